import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { queryProblem } from '../../data/gateway-client.ts'
import { type QueryState, useQuery } from '../../data/hooks.ts'
import type { ListPage } from '../../data/whole-lists.ts'
import type { TypedDocumentString } from '../../documents.generated.ts'
import { useInSight } from './in-sight.ts'

export interface PagedRowsProps<Data, Variables, Row> {
  readonly document: TypedDocumentString<Data, Variables>
  readonly variables: Variables
  /** The first page. */
  readonly page: QueryState<Data>
  readonly pageOf: (data: Data) => ListPage<Row> | null
  /** Renders a row, which needs a key. */
  readonly row: (row: Row, data: Data) => ComponentChildren
  readonly columns: number
  /** Names the rows, in the plural. */
  readonly name: string
}

interface PageProps<Data, Variables, Row> extends PagedRowsProps<Data, Variables, Row> {
  readonly watch?: (element: Element | null) => void
}

/** The rows of a list, whose next page is loaded when the end of the last one comes into sight. */
export function PagedRows<Data, Variables, Row>({ watch, ...props }: PageProps<Data, Variables, Row>) {
  const { page, pageOf, row, columns, name } = props
  const [isNextWanted, setNextWanted] = useState(false)
  const { data, error } = page
  const list = data === undefined ? null : pageOf(data)
  const end = list?.pageInfo.hasNextPage === true ? list.pageInfo.endCursor : null
  return (
    <>
      <tbody ref={watch ?? null}>
        {data !== undefined && list?.nodes.map((each) => row(each, data))}
        {data === undefined && watch !== undefined && (
          <tr>
            <td colSpan={columns}>{error === undefined ? 'Loading…' : queryProblem(error)}</td>
          </tr>
        )}
      </tbody>
      {end !== null && !isNextWanted && <MoreRow {...{ columns, name }} onWanted={() => setNextWanted(true)} />}
      {end !== null && isNextWanted && <NextPage {...props} end={end} />}
    </>
  )
}

/** A page that begins at the end of the one before, and follows changes while it is in sight. */
function NextPage<Data, Variables, Row>({
  end,
  ...props
}: PagedRowsProps<Data, Variables, Row> & { readonly end: string }) {
  const [isShown, watch] = useInSight()
  const after = useRef(end)
  if (isShown) after.current = end
  const page = useQuery(props.document, { ...props.variables, after: after.current }, isShown)
  return <PagedRows {...props} {...{ page, watch }} />
}

interface MoreRowProps {
  readonly columns: number
  readonly name: string
  readonly onWanted: () => void
}

function MoreRow({ columns, name, onWanted }: MoreRowProps) {
  const [isShown, watch] = useInSight()
  useEffect(() => {
    if (isShown) onWanted()
  }, [isShown])
  return (
    <tbody ref={watch}>
      <tr>
        <td colSpan={columns}>
          <button type="button" onClick={onWanted}>
            {`Load more ${name}`}
          </button>
        </td>
      </tr>
    </tbody>
  )
}
