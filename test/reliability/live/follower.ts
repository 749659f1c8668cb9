import { setTimeout as wait } from 'node:timers/promises'
import { type OpenedStream, openEventStream, type StreamEvent, type StreamRequest } from './event-stream.ts'

/** Selection of ledger rows; null selects all. */
export interface RowFilter {
  readonly vaults: readonly string[] | null
  readonly type: 'harvest' | 'plant' | null
}

/** A ledger row that a client received. */
export interface ReceivedRow {
  readonly id: string
  /** Identity of the row, as `rowKey` returns it. */
  readonly row: string
}

/** Rows that a client received between two resets. */
export interface Segment {
  /** The id before the first row. */
  readonly start: string
  readonly rows: ReceivedRow[]
  /** The newest id, of a row or of a heartbeat. */
  end: string
}

/** A client of a ledger stream whose connections are cut at random, and which resumes after the last id. */
export interface Follower {
  readonly filter: RowFilter
  readonly segments: readonly Segment[]
  /** Numbers of connections by status; 0 for connections without a response. */
  readonly statuses: ReadonlyMap<number, number>
  /** Events and statuses that the interface does not permit. */
  readonly unexpected: readonly string[]
  /** Reconnects once more, and keeps that connection open. */
  stopCutting(): void
  stop(): Promise<void>
}

/** Options of a client of a ledger stream. */
export interface FollowerOptions {
  readonly filter: RowFilter
  readonly isGraphql: boolean
  /** Ports of gateways, of which each connection uses a random one. */
  readonly ports: readonly number[]
  readonly localAddress: string
  /** Mean time after which a connection is cut. */
  readonly cutMilliseconds: number
}

/** Maximum delay before reconnecting, shorter than that of browsers. */
const maxReconnectMilliseconds = 300
/** Statuses of a gateway that runs, and of one that starts, stops or has no database. */
const expectedStatuses: readonly number[] = [0, 200, 503]

/** Starts a client of a ledger stream. */
export function startFollower({ filter, isGraphql, ports, localAddress, cutMilliseconds }: FollowerOptions): Follower {
  const segments: Segment[] = []
  const unexpected: string[] = []
  const statuses = new Map<number, number>()
  const state = { isStopped: false, isCuttingStopped: false }
  let stream: OpenedStream | undefined

  function startSegment(start: string): void {
    segments.push({ start, rows: [], end: start })
  }

  function receive(event: StreamEvent): void {
    const { id } = event
    const segment = segments.at(-1)
    const content = readEvent(event)
    if (content === 'unexpected') return void unexpected.push(JSON.stringify(event).slice(0, 300))
    if (content !== null && 'reset' in content) return startSegment(content.reset)
    if (id === null) return
    if (segment === undefined) startSegment(id)
    else segment.end = id
    if (content !== null) segments.at(-1)?.rows.push({ id, row: content.row })
  }

  async function connectOnce(): Promise<void> {
    const port = ports[Math.floor(Math.random() * ports.length)] ?? 0
    const position = segments.at(-1)?.end
    const request = isGraphql ? overGraphql(filter, position) : overRest(filter, position)
    const opened = openEventStream({ ...request, port, localAddress }, receive)
    stream = opened
    const cut = state.isCuttingStopped ? undefined : setTimeout(() => opened.cut(), 2 * Math.random() * cutMilliseconds)
    const status = await opened.ended
    clearTimeout(cut)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (!expectedStatuses.includes(status)) unexpected.push(`status ${status}`)
  }

  const running = (async () => {
    while (!state.isStopped) {
      await connectOnce()
      await wait(Math.random() * maxReconnectMilliseconds)
    }
  })()

  return {
    filter,
    segments,
    unexpected,
    statuses,
    stopCutting() {
      state.isCuttingStopped = true
      stream?.cut()
    },
    async stop() {
      state.isStopped = true
      stream?.cut()
      await running
    },
  }
}

/** The fields that identify a ledger row. */
interface RowIdentity {
  readonly txHash: string
  readonly logIndex: number
}

/** Returns a text that is equal for equal rows. */
export function rowKey(vault: string, { txHash, logIndex }: RowIdentity): string {
  return `${vault} ${txHash} ${logIndex}`
}

/** An event of a GraphQL subscription: a row, or an error. */
type GraphqlResult =
  | {
      readonly data: { readonly ledger: { readonly vault: { readonly address: string }; readonly event: RowIdentity } }
    }
  | { readonly errors: readonly [{ readonly extensions: { readonly code: string; readonly version: string } }] }

/** Parses an event: a row, the id of a reset, or null for other events that the interface permits. */
function readEvent({ event, data, id }: StreamEvent): { row: string } | { reset: string } | 'unexpected' | null {
  if (event === 'event') {
    const row = JSON.parse(data) as RowIdentity & { readonly vault: string }
    return { row: rowKey(row.vault, row) }
  }
  if (event === 'reset') return { reset: id ?? '' }
  if (event !== 'next') return ['', 'stale', 'fresh', 'complete'].includes(event) ? null : 'unexpected'
  const result = JSON.parse(data) as GraphqlResult
  if ('data' in result) return { row: rowKey(result.data.ledger.vault.address, result.data.ledger.event) }
  const [{ extensions }] = result.errors
  return extensions.code === 'HISTORY_CHANGED' ? { reset: extensions.version } : 'unexpected'
}

type StreamRequestContent = Omit<StreamRequest, 'port' | 'localAddress'>

function overRest({ vaults, type }: RowFilter, position: string | undefined): StreamRequestContent {
  const query = new URLSearchParams({ ...(vaults && { vault: vaults.join() }), ...(type && { type }) }).toString()
  return { path: `/live/events?${query}`, headers: position === undefined ? {} : { 'last-event-id': position } }
}

const subscription = `subscription ($vaults: [Address!], $types: [EventType!], $after: String) {
  ledger(vaults: $vaults, types: $types, after: $after) { vault { address } event { txHash logIndex } }
}`

function overGraphql({ vaults, type }: RowFilter, after: string | undefined): StreamRequestContent {
  const variables = { vaults, types: type && [type.toUpperCase()], ...(after !== undefined && { after }) }
  return {
    path: '/graphql',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ query: subscription, variables }),
  }
}
