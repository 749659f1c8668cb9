import { useEffect, useRef, useState } from 'preact/hooks'
import type { TypedDocumentString } from '../../documents.generated.ts'
import { lacksApiKey } from '../gateway-client.ts'
import { type QueryState, useSurroundings } from '../hooks.ts'
import type { PagedList } from './paged-list.ts'
import type { ListPage } from './whole-lists.ts'

/** A list on the page. */
export interface ShownList<Data, Variables, Row> {
  /** The list of the current variables; the list of the previous ones until data arrives. */
  readonly list: PagedList<Data, Variables, Row>
  readonly state: QueryState<Data>
}

/** Reads a list as far as its rows become visible, and again when the data has changed. */
export function usePagedList<Data, Variables, Row>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  pageOf: (data: Data) => ListPage<Row> | null,
): ShownList<Data, Variables, Row> {
  const { client, lists, changes, onKeyRefused } = useSurroundings()
  const [, setResults] = useState(0)
  const list = lists.listOf({ client, document, variables, pageOf })
  const shown = useRef(list)
  if (list.result.data !== undefined || list.result.error !== undefined) shown.current = list
  useEffect(() => {
    list.open(() => {
      if (lacksApiKey(list.result.error)) onKeyRefused()
      setResults((results) => results + 1)
    })
    return () => list.close()
  }, [list])
  const seen = useRef(changes)
  useEffect(() => {
    if (seen.current === changes) return
    seen.current = changes
    list.refresh()
  }, [changes])
  const { data } = shown.current.result
  const { error } = list.result
  return {
    list: shown.current,
    state: { data, error, isPending: shown.current !== list || (data ?? error) === undefined },
  }
}
