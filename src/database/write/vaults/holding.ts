import type { Transaction } from '../../database.ts'
import { appendSet, deleteSet } from '../sets.ts'
import type { VaultRecord } from './vault-record.ts'

const deleteHoldings = deleteSet('benchmark_holding')
const appendHoldings = appendSet('benchmark_holding', { vault_id: 'integer', symbol: 'text', quantity: 'numeric' })

/** Replaces the benchmark holdings of vaults that had flows. */
export function replaceHoldings(transaction: Transaction, vaults: readonly VaultRecord[]): void {
  deleteHoldings(
    transaction,
    vaults.map(({ id }) => id),
  )
  appendHoldings(transaction, vaults.flatMap(holdingRows))
}

function holdingRows({ id, state }: VaultRecord) {
  return Array.from(state.benchmark.holdings, ([symbol, quantity]) => ({
    vault_id: id,
    symbol,
    quantity: quantity.toFixed(),
  }))
}
