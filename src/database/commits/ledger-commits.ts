import type { EventType } from '../../domain/ledger.ts'
import type { Cancellation } from '../cancellation.ts'
import type { Database, Statement } from '../database.ts'
import { hexOf } from '../read/expressions.ts'
import type { LedgerRow } from '../read/rows.ts'

/** The properties of a commit that a stream of ledger rows needs. */
export interface LedgerCommit {
  /** Sequence number. */
  readonly seq: number
  /** `seq.nonce` */
  readonly version: string
  /** Number of ledger rows that it wrote; null where that is not recorded. */
  readonly ledgerRows: number | null
  /** Whether it changed one of the requested vaults. */
  readonly isOfVaults: boolean
}

/** A ledger row with the nonce of the commit that wrote it. */
export interface CommittedRow extends LedgerRow {
  readonly nonce: string
}

const columns = `seq::float8 as seq, version, ledger_rows as "ledgerRows"`

const newestCommit: Statement = {
  name: 'newest_ledger_commit',
  text: `select ${columns}, true as "isOfVaults" from commit_log order by seq desc limit 1`,
}

/** `sources` are the cache tags of a commit, among them its vaults. Rows of a commit never change, so that this and the next statement need no snapshot. */
const commitsFrom: Statement = {
  name: 'ledger_commits_from',
  text: `select ${columns}, $3::text[] is null or sources && $3::text[] as "isOfVaults"
    from commit_log where seq >= $1::bigint order by seq limit $2::integer`,
}

const rowsWithVault = `select commit_nonce::text as nonce, vault.address as "vaultAddress", ${hexOf('tx_hash')} as "txHash",
      log_index as "logIndex", ledger_row.block::float8 as block, ts::float8 as ts, type::text as type,
      amount_usd::text as "amountUsd", position_id as "positionId", reason
    from ledger_row join vault on vault.id = vault_id`

/** Rows of one commit are in a total order that all readers share: the index of a row in it is a part of its stream position. */
const inCommitOrder = 'order by ledger_row.block, log_index, tx_hash, vault.address'

const rowsOfCommits: Statement = {
  name: 'ledger_rows_of_commits',
  text: `${rowsWithVault} where commit_nonce = any($1::bigint[]) ${inCommitOrder}`,
}

const rowsOfCommit: Statement = {
  name: 'ledger_rows_of_commit',
  text: `${rowsWithVault} where commit_nonce = $1::bigint ${inCommitOrder} offset $2::integer limit $3::integer`,
}

type Queries = Pick<Database, 'query'>

/** Reads the newest commit; null in an empty log. */
export async function readNewestCommit(database: Queries, signal: Cancellation): Promise<LedgerCommit | null> {
  const [commit = null] = await database.query<LedgerCommit>(newestCommit, [], signal)
  return commit
}

/**
 * Reads commits in their order.
 * @param seq sequence number of the first one
 * @param vaults addresses of the vaults whose rows are requested; null for all
 */
export function readCommits(
  database: Queries,
  seq: number,
  limit: number,
  vaults: readonly string[] | null,
  signal: Cancellation,
): Promise<LedgerCommit[]> {
  return database.query(commitsFrom, [seq, limit, vaults], signal)
}

/** Reads the ledger rows of commits, those of one commit in their order. */
export function readRowsOfCommits(
  database: Queries,
  nonces: readonly string[],
  signal: Cancellation,
): Promise<CommittedRow[]> {
  if (nonces.length === 0) return Promise.resolve([])
  return database.query<CommittedRow & { type: EventType }>(rowsOfCommits, [nonces], signal)
}

/** Reads some of the ledger rows of a commit, in their order: those after the first `offset` ones. */
export function readRowsOfCommit(
  database: Queries,
  nonce: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  signal: Cancellation,
): Promise<CommittedRow[]> {
  return database.query<CommittedRow & { type: EventType }>(rowsOfCommit, [nonce, offset, limit], signal)
}
