import type { Cancellation } from '../database/cancellation.ts'
import type { Database } from '../database/database.ts'
import {
  type CommittedRow,
  type LedgerCommit,
  readCommits,
  readNewestCommit,
  readRowsOfCommit,
  readRowsOfCommits,
} from '../database/commits/ledger-commits.ts'
import type { LedgerRow } from '../database/read/rows.ts'
import { dataVersionPattern, nonceOf } from '../domain/identity/data-version.ts'
import { type LedgerLogLimits, ledgerLogLimits } from '../limits/live.ts'

/** A position in the stream of ledger rows: after all rows of a commit, or after some of them. */
export interface LedgerPosition {
  /** Number of the commit; 0 before the first. */
  readonly seq: number
  /** `seq.nonce` of the commit; null before the first. */
  readonly version: string | null
  /** Number of the commit's rows before the position; null for all. */
  readonly rows: number | null
}

/** A ledger row with its position in the stream of rows. */
export interface StreamedRow extends LedgerRow {
  /** `version.n`: the data version of its commit, and its one-based index among the commit's rows. */
  readonly cursor: string
}

/** Rows of one commit, in order: those after the position that was asked for. */
export interface StreamedCommit {
  readonly seq: number
  readonly version: string
  readonly rows: readonly StreamedRow[]
}

/** Commits after a position, in order: at least one. */
export interface CommitPage {
  readonly kind: 'commits'
  readonly commits: readonly StreamedCommit[]
  /** The position after these rows: in the last commit, where that has more. */
  readonly end: LedgerPosition
  /** Whether there were no further commits at the time of the read. */
  readonly isEnd: boolean
}

/**
 * Reason why there are no commits after a position. `none`: no later commit exists yet. `ahead`: it is later than the
 * newest commit of this server, which lags behind, or a failover has lost the position. `lost`: it is not part of the
 * history, or its commits are no longer stored.
 */
export interface NoCommits {
  readonly kind: 'none' | 'ahead' | 'lost'
}

/** The ledger rows of all vaults in the order of commits. */
export interface LedgerLog {
  /**
   * Returns the position after all rows.
   * @throws {ReadCancelled} when the read takes too long, as after() does
   */
  end(): Promise<LedgerPosition>
  /**
   * Reads the commits after a position.
   * @param vaults rows of commits that changed none of these vaults are omitted; null for all
   * @param only whether the page ends with a whole commit, even where that has more rows than a page
   */
  after(
    position: LedgerPosition,
    vaults: readonly string[] | null,
    only?: 'whole commits',
  ): Promise<CommitPage | NoCommits>
}

/** Creates the log of ledger rows on a database. */
export function createLedgerLog(
  database: Pick<Database, 'query'>,
  limits: LedgerLogLimits = ledgerLogLimits,
): LedgerLog {
  return {
    async end() {
      const newest = await readNewestCommit(database, AbortSignal.timeout(limits.milliseconds))
      return newest === null ? beginning : { seq: newest.seq, version: newest.version, rows: null }
    },

    async after(position, vaults, only) {
      const signal = AbortSignal.timeout(limits.milliseconds)
      // With the commit of the position, which verifies it.
      const most = 1 + limits.commits
      const read = await readCommits(database, Math.max(1, position.seq), most, vaults, signal)
      if (read.length === 0 && position.version !== null) return { kind: 'ahead' }
      const first = position.version === null ? undefined : read[0]
      if ((first?.version ?? null) !== position.version) return { kind: 'lost' }
      if ((position.rows ?? 0) > (first?.ledgerRows ?? 0)) return { kind: 'lost' }
      const isPartial = position.rows !== null
      const later = first === undefined || isPartial ? read : read.slice(1)
      const start = first === undefined || isPartial ? Math.max(1, position.seq) : position.seq + 1
      const isWhole = later.every(({ seq, ledgerRows }, index) => seq === start + index && ledgerRows !== null)
      if (!isWhole) return { kind: 'lost' }
      const [next] = later
      if (next === undefined) return { kind: 'none' }
      const isLastRead = (commits: number): boolean => read.length < most && commits === later.length
      const offset = next.seq === position.seq ? (position.rows ?? 0) : 0
      if (only === undefined && (offset > 0 || numberOfRows(next) > limits.rows)) {
        const { commit, end } = await partOf(database, next, { offset, limit: limits.rows }, signal)
        return { kind: 'commits', commits: [commit], end, isEnd: end.rows === null && isLastRead(1) }
      }
      const commits = firstPage(later, limits.rows)
      const rows = await rowsOf(database, commits, signal)
      const streamed = commits.map((commit) => streamedCommit(commit, rows.get(nonceOf(commit.version)) ?? [], 0))
      return { kind: 'commits', commits: streamed, end: endOf(commits), isEnd: isLastRead(commits.length) }
    },
  }
}

const beginning: LedgerPosition = { seq: 0, version: null, rows: null }
/** Text of the position before the first commit, which has no data version. */
const beginningText = '0.0'

const positionPattern = new RegExp(`^(${dataVersionPattern})(?:\\.([1-9]\\d{0,8}))?$`)

/**
 * Parses a position: a data version, or the cursor of a row.
 * @returns null if it is neither
 */
export function parseLedgerPosition(text: string): LedgerPosition | null {
  if (text === beginningText) return beginning
  const [, version = '', seq, rows] = positionPattern.exec(text) ?? []
  return seq === undefined ? null : { seq: Number(seq), version, rows: rows === undefined ? null : Number(rows) }
}

/** Formats a position, so that it can be parsed. */
export function formatLedgerPosition({ version, rows }: LedgerPosition): string {
  return rows === null ? (version ?? beginningText) : `${version ?? ''}.${rows}`
}

/** Returns the first commits that together have a limited number of rows, and at least one commit. */
function firstPage(commits: readonly LedgerCommit[], maxRows: number): readonly LedgerCommit[] {
  let rows = 0
  const end = commits.findIndex((commit) => {
    rows += numberOfRows(commit)
    return rows > maxRows
  })
  return end < 0 ? commits : commits.slice(0, Math.max(1, end))
}

async function rowsOf(
  database: Pick<Database, 'query'>,
  commits: readonly LedgerCommit[],
  signal: Cancellation,
): Promise<ReadonlyMap<string, readonly CommittedRow[]>> {
  const withRows = commits.filter((commit) => numberOfRows(commit) > 0)
  const rows = new Map<string, CommittedRow[]>(withRows.map(({ version }) => [nonceOf(version), []]))
  for (const row of await readRowsOfCommits(database, [...rows.keys()], signal)) rows.get(row.nonce)?.push(row)
  for (const commit of withRows) {
    const found = rows.get(nonceOf(commit.version))?.length ?? 0
    if (found !== commit.ledgerRows) throw unlikeNoted(commit, found)
  }
  return rows
}

/** Reads the next rows of a commit: as many as a page has, or all that are left. */
async function partOf(
  database: Pick<Database, 'query'>,
  commit: LedgerCommit,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  signal: Cancellation,
): Promise<{ readonly commit: StreamedCommit; readonly end: LedgerPosition }> {
  const { seq, version } = commit
  const left = numberOfRows(commit) - offset
  const expected = Math.min(limit, Math.max(0, left))
  const rows = expected === 0 ? [] : await readRowsOfCommit(database, nonceOf(version), { offset, limit }, signal)
  if (rows.length !== expected) throw unlikeNoted(commit, offset + rows.length)
  const end = { seq, version, rows: left > expected ? offset + expected : null }
  return { commit: streamedCommit(commit, rows, offset), end }
}

/** Returns the number of a commit's rows that may be of the requested vaults. */
function numberOfRows({ ledgerRows, isOfVaults }: LedgerCommit): number {
  return isOfVaults ? (ledgerRows ?? 0) : 0
}

function unlikeNoted({ version, ledgerRows }: LedgerCommit, found: number): Error {
  return new Error(`Commit ${version} has ${found} ledger rows, and noted ${ledgerRows}.`)
}

/** @param offset number of the commit's rows before these */
function streamedCommit({ seq, version }: LedgerCommit, rows: readonly CommittedRow[], offset: number): StreamedCommit {
  const cursorOf = (index: number): string => `${version}.${offset + index + 1}`
  return { seq, version, rows: rows.map((row, index) => ({ ...row, cursor: cursorOf(index) })) }
}

/** Returns the position after commits. */
function endOf(commits: readonly LedgerCommit[]): LedgerPosition {
  const { seq, version } = commits.at(-1) ?? beginning
  return { seq, version, rows: null }
}
