import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'

const pauseMilliseconds = 50

/** Knows from the primary itself when each commit was there. */
export interface CommitWatch {
  /** Number of the newest commit that is known. */
  readonly newest: number
  /** Lines of the feed that are known to be applied. */
  readonly lines: number
  /** The newest commit that was known at a time, in milliseconds of performance.now(). */
  seqAt(at: number): number
  /** How long the commit after one was known at a time, in milliseconds; 0 where it was not. */
  ageOf(seq: number, at: number): number
  /** Drops the connection: the server at its end is gone. */
  reconnect(): void
  /** Resolves with the time at which a server that takes writes has answered after {@link reconnect}. */
  answered(): Promise<number>
  /** Resolves with the time at which a commit later than one is known. */
  commitAfter(seq: number): Promise<number>
  stop(): Promise<void>
}

const newest = `select pg_is_in_recovery() as "isStandby", (select coalesce(max(seq), 0)::int from data_head) as seq,
  (select coalesce(max(line), 0)::int from feed) as line`

/** Asks the primary for its newest commit again and again. */
export function watchCommits(url: string): CommitWatch {
  /** When each commit was known first; those that came together share a time. */
  const known: number[] = [0]
  let client: pg.Client | null = null
  let lines = 0
  let answeredAt: number | null = null
  const state = { isOver: false }
  const drop = (): void => {
    client?.connection.stream.destroy()
    client = null
  }
  const connected = async (): Promise<pg.Client> => {
    const opened = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 })
    opened.on('error', () => undefined)
    await opened.connect()
    return (client = opened)
  }
  const poll = async (): Promise<void> => {
    const asked = client ?? (await connected())
    const { rows } = await asked.query<{ isStandby: boolean; seq: number; line: number }>(newest)
    const [row] = rows
    if (row === undefined || row.isStandby || asked !== client) return drop()
    answeredAt ??= performance.now()
    lines = row.line
    for (let seq = known.length; seq <= row.seq; seq++) known.push(performance.now())
  }
  const running = (async () => {
    while (!state.isOver) {
      await poll().catch(drop)
      await wait(pauseMilliseconds)
    }
  })()
  const until = async (found: () => number | null): Promise<number> => {
    for (let at = found(); ; at = found()) {
      if (at !== null) return at
      await wait(pauseMilliseconds)
    }
  }
  return {
    get newest() {
      return known.length - 1
    },
    get lines() {
      return lines
    },
    seqAt(at) {
      const later = known.findIndex((time) => time > at)
      return (later < 0 ? known.length : later) - 1
    },
    ageOf: (seq, at) => Math.max(0, at - (known[seq + 1] ?? at)),
    reconnect() {
      drop()
      answeredAt = null
    },
    answered: () => until(() => answeredAt),
    commitAfter: (seq) => until(() => known[seq + 1] ?? null),
    async stop() {
      state.isOver = true
      await running
      drop()
    },
  }
}
