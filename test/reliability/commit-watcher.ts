import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'

const pauseMilliseconds = 50

/**
 * Times at which commits appeared on the primary server, by polling it; times are milliseconds of performance.now().
 */
export interface CommitWatcher {
  /** Number of the newest commit seen. */
  readonly newestSeq: number
  /** Number of applied lines of the feed. */
  readonly appliedLines: number
  /** Returns the newest commit that had been seen at a time. */
  seqAt(time: number): number
  /** Returns how long before a time the commit after `seq` had been seen; 0 if it had not. */
  ageMilliseconds(seq: number, time: number): number
  /** Closes the connection, and connects to the new primary. */
  reconnect(): void
  /** Resolves with the time of the first response of a primary after {@link reconnect}. */
  untilPrimaryResponds(): Promise<number>
  /** Resolves with the time at which a commit after `seq` was seen. */
  untilCommitAfter(seq: number): Promise<number>
  stop(): Promise<void>
}

const newestCommitSql = `select pg_is_in_recovery() as "isStandby", (select coalesce(max(seq), 0)::int from data_head) as seq,
  (select coalesce(max(line), 0)::int from feed) as line`

/** Polls a primary server for its newest commit. */
export function startCommitWatcher(url: string): CommitWatcher {
  /** Time of each commit by its number; commits of the same poll share a time. */
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
    for (let time = find(); ; time = find()) {
      if (time !== null) return time
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
    seqAt(time) {
      const later = seenAt.findIndex((seen) => seen > time)
      return (later < 0 ? seenAt.length : later) - 1
    },
    ageMilliseconds: (seq, time) => Math.max(0, time - (seenAt[seq + 1] ?? time)),
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
