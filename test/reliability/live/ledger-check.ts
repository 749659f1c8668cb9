import type { Follower, RowFilter, Segment } from './follower.ts'

/** A ledger row as the database has it in the end. */
export interface CommittedRow {
  readonly vault: string
  readonly type: string
  /** Data version of its commit. */
  readonly version: string
  /** Its place among the rows of its commit, from 1. */
  readonly place: number
  /** Equal for equal rows. */
  readonly row: string
}

/** The history at the end of a run: rows in the order of commits, and the versions of all commits. */
export interface LedgerHistory {
  readonly rows: readonly CommittedRow[]
  readonly versions: ReadonlySet<string>
}

/**
 * Compares the rows of a client with the history.
 * @returns where a row is missing, repeated or out of order, or where a reset came without a reason
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

function segmentViolations(
  { start, rows, end }: Segment,
  filter: readonly CommittedRow[],
  versions: ReadonlySet<string>,
  isLast: boolean,
): string[] {
  const kept = rows.filter(({ id }) => versions.has(versionOf(id)))
  const isPrefix = kept.every((row, index) => row === rows[index])
  const expected = versions.has(versionOf(start)) ? filter.filter((row) => isAfter(row, start)) : []
  const wrong = kept.findIndex(({ id, row }, at) => row !== expected[at]?.row || id !== idOf(expected[at]))
  const missing = isLast ? expected.length - kept.length : 0
  const unordered = rows.findIndex(({ id }, at) => at > 0 && !isLater(id, rows[at - 1]?.id ?? ''))
  return [
    ...(isPrefix ? [] : [`after ${start}, rows of the history follow lost ones`]),
    ...(wrong < 0 ? [] : [`after ${start}, row ${wrong + 1} is ${kept[wrong]?.id}, not ${idOf(expected[wrong])}`]),
    ...(missing > 0 ? [`after ${start}, ${missing} rows of ${expected.length} are missing`] : []),
    ...(unordered < 0 ? [] : [`after ${start}, ${rows[unordered]?.id} came too late`]),
    ...(isLast || !versions.has(versionOf(end)) ? [] : [`a reset came at ${end}, which is part of the history`]),
  ]
}

function idOf(row: CommittedRow | undefined): string {
  return row === undefined ? 'nothing' : `${row.version}.${row.place}`
}

const versionOf = (id: string): string => id.split('.', 2).join('.')

/** Numbers of a commit and of a row in it; behind all rows of the commit where the id has none. */
function orderOf(id: string): readonly [number, number] {
  const [seq, , place] = id.split('.')
  return [Number(seq), place === undefined ? Infinity : Number(place)]
}

function isLater(id: string, before: string): boolean {
  const [[seq, place], [seqBefore, placeBefore]] = [orderOf(id), orderOf(before)]
  return seq === seqBefore ? place > placeBefore : seq > seqBefore
}

const isAfter = (row: CommittedRow, id: string): boolean => isLater(idOf(row), id)
