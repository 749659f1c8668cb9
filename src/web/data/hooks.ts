import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import {
  DataChangesDocument,
  type DataStatusQuery,
  type TypedDocumentString,
  VaultChangesDocument,
} from '../documents.generated.ts'
import { type GatewayClient, lacksApiKey, queryProblem, type QueryResult } from './gateway-client.ts'
import type { ListCache } from './lists/list-cache.ts'
import { atMostEvery, type LiveQuery, openLiveQuery } from './live-query.ts'

/** The context that all views share. */
export interface Surroundings {
  readonly client: GatewayClient
  readonly lists: ListCache
  /** Incremented whenever the data of the view may have changed. */
  readonly changes: number
  readonly nowSeconds: () => number
  /** Called when a request lacks a valid API key. */
  readonly onKeyRefused: () => void
}

export const SurroundingsContext = createContext<Surroundings | null>(null)

export function useSurroundings(): Surroundings {
  const surroundings = useContext(SurroundingsContext)
  if (surroundings === null) throw new Error('A view is rendered outside of the application')
  return surroundings
}

/** Minimum time between two refreshes of a view, in milliseconds. */
const refreshMilliseconds = 1_000
const statusMilliseconds = 5_000

/** A query's newest result: data remains while newer data is loaded, and after an error of the same query. */
export interface QueryState<Data> extends QueryResult<Data> {
  readonly isPending: boolean
}

/** Runs a query, and runs it again when the data has changed. */
export function useQuery<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
): QueryState<Data> {
  const { client, changes, onKeyRefused } = useSurroundings()
  const [state, setState] = useState<QueryState<Data>>({ data: undefined, error: undefined, isPending: true })
  const running = useRef<LiveQuery | null>(null)
  const seen = useRef(changes)
  const key = JSON.stringify(variables)
  useEffect(() => {
    setState(({ data }) => ({ data, error: undefined, isPending: true }))
    seen.current = changes
    let own: Data | undefined
    running.current = openLiveQuery(client, document, variables, ({ data, error }) => {
      if (lacksApiKey(error)) onKeyRefused()
      own = data ?? own
      setState({ data: own, error, isPending: false })
    })
    return () => running.current?.close()
  }, [client, document, key])
  useEffect(() => {
    if (seen.current === changes) return
    seen.current = changes
    running.current?.refresh()
  }, [changes])
  return state
}

/** Returns whether the page is visible: a hidden page has no stream, and sends no requests. */
function usePageVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const update = (): void => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', update)
    return () => document.removeEventListener('visibilitychange', update)
  }, [])
  return isVisible
}

/**
 * Counts changes of the data, by the events of a stream.
 * @param vault whose changes count; null for all changes
 * @returns the count, and a function that increments it
 */
export function useChanges(client: GatewayClient | null, vault: string | null): [number, () => void] {
  const [changes, setChanges] = useState(0)
  const isVisible = usePageVisible()
  const change = (): void => {
    client?.refreshed()
    setChanges((count) => count + 1)
  }
  useEffect(() => {
    if (client === null || !isVisible) return
    const limited = atMostEvery(refreshMilliseconds, change)
    const close =
      vault === null
        ? client.subscribe(DataChangesDocument, {}, limited)
        : client.subscribe(VaultChangesDocument, { address: vault }, limited)
    return () => {
      limited.cancel()
      close()
    }
  }, [client, vault, isVisible])
  return [changes, change]
}

/** The state of the gateway and of its feeds; null before it is known. */
export interface GatewayState {
  /** Why the gateway's state is unknown; null where it is known. */
  readonly problem: string | null
  readonly meta: DataStatusQuery['_meta'] | null
}

/**
 * Polls the state of the gateway every 5 s, while the page is visible.
 * @param onChange called when the gateway answers again, and when the shown data may be older than its state
 */
export function useGatewayState(client: GatewayClient | null, onChange: () => void): GatewayState | null {
  const [state, setState] = useState<GatewayState | null>(null)
  const isVisible = usePageVisible()
  const wasReachable = useRef(true)
  useEffect(() => {
    if (client === null || !isVisible) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let stop: () => void = () => undefined
    const ask = (): void => {
      stop = client.poll(({ data, error }, isOutdated) => {
        const problem = error === undefined ? null : queryProblem(error)
        if (problem === null && (isOutdated || !wasReachable.current)) onChange()
        wasReachable.current = problem === null
        setState((last) => ({ problem, meta: data?._meta ?? last?.meta ?? null }))
        timer = setTimeout(ask, statusMilliseconds)
      })
    }
    ask()
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [client, isVisible])
  return state
}

/** Returns the time in Unix seconds, updated at each interval. */
export function useNowSeconds(milliseconds = 1_000): number {
  const { nowSeconds } = useSurroundings()
  const [now, setNow] = useState(nowSeconds)
  useEffect(() => {
    const timer = setInterval(() => setNow(nowSeconds()), milliseconds)
    return () => clearInterval(timer)
  }, [milliseconds])
  return now
}
