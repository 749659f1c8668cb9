import type { Tables } from '../../prisma/columns.ts'
import { hexOf } from '../expressions.ts'
import { modelCodec } from '../row-codec.ts'
import type { LedgerRow } from '../rows.ts'

/** Encodes rows of a ledger, whose key is the address of its vault. */
export const ledgerCodec = modelCodec<{ '': Tables['ledger_row'] }, LedgerRow>((c) => ({
  vaultAddress: c.key,
  txHash: c.raw(hexOf('tx_hash')),
  logIndex: c.number('log_index'),
  block: c.number('block'),
  ts: c.number('ts'),
  type: c.raw('type'),
  amountUsd: c.rawOrNull('amount_usd'),
  positionId: c.textOrNull('position_id'),
  reason: c.textOrNull('reason'),
}))
