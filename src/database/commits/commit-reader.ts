import type { ChangeListener, Commit } from './change-listener.ts'
import type { Statement, Value } from '../database.ts'

/**
 * NOTIFY channel of commits. It has no payload: a listener wakes up and reads the log.
 * @see PostgreSQL documentation, NOTIFY
 */
export const commitChannel = 'vault_gateway_commits'

/**
 * Maximum number of commits to catch up with; beyond it the listener starts from scratch, because clearing a cache is
 * then cheaper than checking each entry.
 */
const maxCommits = 1_000

/** The cache tags of a commit are in the column `sources`. */
const columns = `seq::float8 as seq, version, newest_ts::float8 as "newestTs", sources as tags`

/**
 * Returns a statement that also reads whether the server is a standby: in the same statement, because a connection through
 * a proxy may lead to another server by the next one. One row of NULLs stands for no commit.
 */
function reading(name: string, commits: string): Statement {
  return {
    name,
    text: `select pg_is_in_recovery() as "isStandby", log.*
      from (values (1)) as one left join (select ${columns} from commit_log ${commits}) as log on true order by log.seq`,
  }
}

const newest = reading('newest_commit', 'order by seq desc limit 1')
/** Starts with the last reported commit: where it is missing, the log belongs to another history. */
const from = reading('commits_from', `where seq >= $1::bigint order by seq limit ${maxCommits + 2}`)

interface LoggedCommit extends Commit {
  readonly seq: number
}

type LogRow = { readonly isStandby: boolean } & (LoggedCommit | { readonly seq: null })

/** Reads the commit log on the server that serves reads. */
export type ReadLog = (statement: Statement, values: readonly Value[]) => Promise<unknown[]>

/** Reads the commit log from the last reported commit on, and reports each new one to a listener. */
export class CommitReader {
  readonly #read: ReadLog
  readonly #listener: ChangeListener
  readonly #onStandby: (() => void) | undefined
  #isStandby = false
  /** The newest reported commit; null for an empty log, undefined before the log was read. */
  #last: LoggedCommit | null | undefined

  /**
   * @param onStandby called in place of `upToDate` where the server is a standby, which may lack commits of its primary;
   * none where the listener knows what a poll of a standby proves
   */
  constructor(read: ReadLog, listener: ChangeListener, onStandby?: () => void) {
    this.#read = read
    this.#listener = listener
    this.#onStandby = onStandby
  }

  /**
   * Reads the log to its end.
   * @throws when the log cannot be read
   */
  async poll(): Promise<void> {
    const sentAt = performance.now()
    if (this.#last === undefined || !(await this.#readOn(this.#last))) await this.#begin()
    if (this.#isStandby && this.#onStandby !== undefined) this.#onStandby()
    else this.#listener.upToDate(sentAt)
  }

  /** Reports that commits are not received from now on. */
  disconnect(): void {
    if (this.#last !== undefined) this.#listener.listening(false)
    this.#last = undefined
  }

  async #begin(): Promise<void> {
    this.disconnect()
    const [commit = null] = await this.#commits(newest, [])
    this.#last = commit
    this.#listener.listening(true)
    if (commit !== null) this.#report({ ...commit, tags: null })
  }

  /**
   * @returns false where the log does not continue from the last commit: after a failover, a restore, or a long pause
   */
  async #readOn(last: LoggedCommit | null): Promise<boolean> {
    const commits = await this.#commits(from, [last?.seq ?? 0])
    const first = last === null ? undefined : commits.shift()
    if (first?.version !== last?.version || commits.length > maxCommits || !areConsecutive(first, commits)) return false
    for (const commit of commits) this.#report(commit)
    this.#last = commits.at(-1) ?? last
    return true
  }

  async #commits(statement: Statement, values: readonly Value[]): Promise<LoggedCommit[]> {
    const rows = (await this.#read(statement, values)) as LogRow[]
    this.#isStandby = rows.some(({ isStandby }) => isStandby)
    return rows.filter((row) => row.seq !== null)
  }

  #report({ version, newestTs, tags }: LoggedCommit): void {
    this.#listener.committed({ version, newestTs, tags })
  }
}

/** Returns whether the sequence numbers have no gap. A gap means that rows were pruned before they were read. */
function areConsecutive(first: LoggedCommit | undefined, commits: readonly LoggedCommit[]): boolean {
  const start = first?.seq ?? (commits[0]?.seq ?? 1) - 1
  return commits.every(({ seq }, index) => seq === start + index + 1)
}
