import type { Database, Transaction } from '../../database/database.ts'
import { type AppliedVaults, readAppliedVaults } from '../../database/write/vaults/applied-vaults.ts'
import type { AppliedVault } from '../../domain/identity/applied-vault.ts'
import { type OutageObserver, retryDuringOutage } from '../retry.ts'
import type { Run } from '../run.ts'
import { lockVerifiedPosition } from './verified-position.ts'

/** Options of {@link readVerifiedVaults}. */
export interface VerifiedVaultsOptions {
  readonly database: Pick<Database, 'transaction'>
  readonly outageObserver?: OutageObserver
  readonly signal?: AbortSignal
}

/**
 * Reads how far the facts of vaults are applied, by which a source leaves facts out. The next batches of the run verify that the
 * database still contains what was read.
 * @returns no vaults where the run was aborted
 * @throws {CommitsLost} when the database does not contain everything that the run has applied
 */
export async function readVerifiedVaults(
  { database, outageObserver, signal }: VerifiedVaultsOptions,
  run: Run,
  addresses: readonly string[],
): Promise<readonly AppliedVault[]> {
  const read = async (transaction: Transaction): Promise<AppliedVaults> => {
    await lockVerifiedPosition(transaction, run.source.name, run.expected)
    return readAppliedVaults(transaction, addresses)
  }
  const applied = await retryDuringOutage(() => database.transaction(read), outageObserver, signal)
  const { vaults = [], version = null } = applied ?? {}
  if (vaults.length > 0) run.expected = { ...run.expected, version }
  return vaults
}
