import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'

const pauseMilliseconds = 50

/** Knows from the primary itself when each commit was there. */
export interface CommitWatcher {
  /** Number of the newest commit that is known. */
  readonly newestSeq: number
  /** Lines of the feed that are known to be applied. */
  readonly appliedLines: number
  /** The newest commit that was known at a time, in milliseconds of performance.now(). */
  seqAt(at: number): number
  /** How long the commit after one was known at a time, in milliseconds; 0 where it was not. */
  ageMilliseconds(seq: number, at: number): number
  /** Drops the connection: the server at its end is gone. */
  reconnect(): void
  /** Resolves with the time at which a server that takes writes has answered after {@link reconnect}. */
  untilPrimaryResponds(): Promise<number>
  /** Resolves with the time at which a commit later than one is known. */
  untilCommitAfter(seq: number): Promise<number>
  stop(): Promise<void>
}

const newestCommitSql = `select pg_is_in_recovery() as "isStandby", (select coalesce(max(seq), 0)::int from data_head) as seq,
  (select coalesce(max(line), 0)::int from feed) as line`

/** Asks the primary for its newest commit again and again. */
export function startCommitWatcher(url: string): CommitWatcher {
  /** When each commit was known first; those that came together share a time. */
  const seenAt: number[] = [0]
  let client: pg.Client | null = null
  let appliedLines = 0
  let respondedAt: number | null = null
  const state = { isOver: false }
  const disconnect = (): void => {
    client?.connection.stream.destroy()
    client = null
  }
  const connect = async (): Promise<pg.Client> => {
    const opened = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 })
    opened.on('error', () => undefined)
    await opened.connect()
    return (client = opened)
  }
  const poll = async (): Promise<void> => {
    const polled = client ?? (await connect())
    const { rows } = await polled.query<{ isStandby: boolean; seq: number; line: number }>(newestCommitSql)
    const [row] = rows
    if (row === undefined || row.isStandby || polled !== client) return disconnect()
    respondedAt ??= performance.now()
    appliedLines = row.line
    for (let seq = seenAt.length; seq <= row.seq; seq++) seenAt.push(performance.now())
  }
  const running = (async () => {
    while (!state.isOver) {
      await poll().catch(disconnect)
      await wait(pauseMilliseconds)
    }
  })()
  const pollUntil = async (find: () => number | null): Promise<number> => {
    for (let at = find(); ; at = find()) {
      if (at !== null) return at
      await wait(pauseMilliseconds)
    }
  }
  return {
    get newestSeq() {
      return seenAt.length - 1
    },
    get appliedLines() {
      return appliedLines
    },
    seqAt(at) {
      const later = seenAt.findIndex((time) => time > at)
      return (later < 0 ? seenAt.length : later) - 1
    },
    ageMilliseconds: (seq, at) => Math.max(0, at - (seenAt[seq + 1] ?? at)),
    reconnect() {
      disconnect()
      respondedAt = null
    },
    untilPrimaryResponds: () => pollUntil(() => respondedAt),
    untilCommitAfter: (seq) => pollUntil(() => seenAt[seq + 1] ?? null),
    async stop() {
      state.isOver = true
      await running
      disconnect()
    },
  }
}
