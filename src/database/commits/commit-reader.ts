import type { ChangeListener, Commit } from './change-listener.ts'
import type { Statement, Value } from '../database.ts'

/** Each commit notifies it, without a payload: a listener wakes up and reads the log. */
export const commitChannel = 'vault_gateway_commits'

/** So many commits, and all that was kept before them is made anew: to look for what of it still stands would take longer. */
const mostAtOnce = 1_000

const columns = `seq::float8 as seq, version, newest_ts::float8 as "newestTs", sources as tags`

const newest: Statement = {
  name: 'newest_commit',
  text: `select ${columns} from commit_log order by seq desc limit 1`,
}
/** The one that is known comes first: where it doesn't, the history is another. */
const from: Statement = {
  name: 'commits_from',
  text: `select ${columns} from commit_log where seq >= $1::bigint order by seq limit ${mostAtOnce + 2}`,
}

interface LoggedCommit extends Commit {
  readonly seq: number
}

/** Reads the log on the server that answers are read from. */
export type ReadLog = (statement: Statement, values: readonly Value[]) => Promise<unknown[]>

/** Reads the commit log on from the commit that is known, and tells a listener of each new one. */
export class CommitReader {
  readonly #read: ReadLog
  readonly #listener: ChangeListener
  /** The newest commit that was told of; null in an empty log. Undefined where nothing is known of the log. */
  #known: LoggedCommit | null | undefined

  constructor(read: ReadLog, listener: ChangeListener) {
    this.#read = read
    this.#listener = listener
  }

  /** Reads to the end of the log. */
  async poll(): Promise<void> {
    const sentAt = performance.now()
    if (this.#known === undefined || !(await this.#goOn(this.#known))) await this.#begin()
    this.#listener.upToDate(sentAt)
  }

  /** Tells that commits aren't heard of from now on. */
  lose(): void {
    if (this.#known !== undefined) this.#listener.listening(false)
    this.#known = undefined
  }

  async #begin(): Promise<void> {
    this.lose()
    const [commit = null] = (await this.#read(newest, [])) as LoggedCommit[]
    this.#known = commit
    this.#listener.listening(true)
    if (commit !== null) this.#tell({ ...commit, tags: [] })
  }

  /** @returns false where the log doesn't follow on what is known of it: after a failover, a restore, or a long pause */
  async #goOn(known: LoggedCommit | null): Promise<boolean> {
    const commits = (await this.#read(from, [known?.seq ?? 0])) as LoggedCommit[]
    const first = known === null ? undefined : commits.shift()
    if (first?.version !== known?.version || commits.length > mostAtOnce || !areConsecutive(first, commits))
      return false
    for (const commit of commits) this.#tell(commit)
    this.#known = commits.at(-1) ?? known
    return true
  }

  #tell({ version, newestTs, tags }: LoggedCommit): void {
    this.#listener.committed({ version, newestTs, tags })
  }
}

/** There are no gaps, unless rows are pruned that were not read yet. */
function areConsecutive(first: LoggedCommit | undefined, commits: readonly LoggedCommit[]): boolean {
  const start = first?.seq ?? (commits[0]?.seq ?? 1) - 1
  return commits.every(({ seq }, index) => seq === start + index + 1)
}
