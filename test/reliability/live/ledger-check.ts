import type { Follower, RowFilter, Segment } from './follower.ts'

/** A ledger row in the database at the end of a run. */
export interface CommittedRow {
  readonly vault: string
  readonly type: string
  /** Data version of its commit. */
  readonly version: string
  /** Position among the rows of its commit, from 1. */
  readonly place: number
  /** Identity of the row, as `rowKey` returns it. */
  readonly row: string
}

/** The commit log at the end of a run: ledger rows in the order of their commits, and the versions of all commits. */
export interface LedgerHistory {
  readonly rows: readonly CommittedRow[]
  readonly versions: ReadonlySet<string>
}

/**
 * Compares the rows that a client received with the commit log.
 * @returns rows that are missing, repeated or out of order, and resets without a reason
 */
export function ledgerViolations({ filter, segments, unexpected }: Follower, history: LedgerHistory): string[] {
  const rows = history.rows.filter((row) => matchesFilter(filter, row))
  return [
    ...unexpected,
    ...segments.flatMap((segment, index) =>
      segmentViolations(segment, rows, history.versions, index === segments.length - 1),
    ),
  ]
}

function matchesFilter({ vaults, type }: RowFilter, row: CommittedRow): boolean {
  return (vaults?.includes(row.vault) ?? true) && (type ?? row.type) === row.type
}

/** Checks the rows between two resets; rows of commits that a failover lost may stand at their end only. */
function segmentViolations(
  { start, rows, end }: Segment,
  committedRows: readonly CommittedRow[],
  versions: ReadonlySet<string>,
  isLast: boolean,
): string[] {
  const committed = rows.filter(({ id }) => versions.has(versionOf(id)))
  const isPrefix = committed.every((row, index) => row === rows[index])
  const expected = versions.has(versionOf(start)) ? committedRows.filter((row) => isAfter(row, start)) : []
  const wrong = committed.findIndex(({ id, row }, at) => row !== expected[at]?.row || id !== idOf(expected[at]))
  const missing = isLast ? expected.length - committed.length : 0
  const unordered = rows.findIndex(({ id }, at) => at > 0 && !isLater(id, rows[at - 1]?.id ?? ''))
  return [
    ...(isPrefix ? [] : [`after ${start}, committed rows follow lost ones`]),
    ...(wrong < 0 ? [] : [`after ${start}, row ${wrong + 1} is ${committed[wrong]?.id}, not ${idOf(expected[wrong])}`]),
    ...(missing > 0 ? [`after ${start}, ${missing} rows of ${expected.length} are missing`] : []),
    ...(unordered < 0 ? [] : [`after ${start}, ${rows[unordered]?.id} is out of order`]),
    ...(isLast || !versions.has(versionOf(end)) ? [] : [`a reset at ${end}, whose commit was not lost`]),
  ]
}

/** Returns the id of a row's event on a stream. */
function idOf(row: CommittedRow | undefined): string {
  return row === undefined ? 'nothing' : `${row.version}.${row.place}`
}

const versionOf = (id: string): string => id.split('.', 2).join('.')

/** Returns the numbers of a commit and of a row in it; an id without a row is after all rows of its commit. */
export function orderOf(id: string): readonly [number, number] {
  const [seq, , place] = id.split('.')
  return [Number(seq), place === undefined ? Infinity : Number(place)]
}

/** Compares two ids by commit, then by row. */
function isLater(id: string, before: string): boolean {
  const [[seq, place], [seqBefore, placeBefore]] = [orderOf(id), orderOf(before)]
  return seq === seqBefore ? place > placeBefore : seq > seqBefore
}

const isAfter = (row: CommittedRow, id: string): boolean => isLater(idOf(row), id)
