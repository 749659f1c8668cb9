import type { Database, Transaction } from '../../database/database.ts'
import {
  type ProgressOfVaults,
  readVaultProgress,
  type VaultProgress,
} from '../../database/write/vaults/vault-progress.ts'
import { type OutageObserver, retryDuringOutage } from '../retry.ts'
import type { Run } from '../run.ts'
import { lockVerifiedPosition } from './verified-position.ts'

/** Options of {@link readProgress}. */
export interface ProgressOptions {
  readonly database: Pick<Database, 'transaction'>
  readonly outageObserver?: OutageObserver
  readonly signal?: AbortSignal
}

/**
 * Reads how far vaults have been applied, by which a source leaves facts out. The next batches of the run verify that the
 * database still contains what was read.
 * @returns no vaults where the run was aborted
 * @throws {CommitsLost} when the database does not contain everything that the run has applied
 */
export async function readProgress(
  { database, outageObserver, signal }: ProgressOptions,
  run: Run,
  addresses: readonly string[],
): Promise<readonly VaultProgress[]> {
  const read = async (transaction: Transaction): Promise<ProgressOfVaults> => {
    await lockVerifiedPosition(transaction, run.source.name, run.expected)
    return readVaultProgress(transaction, addresses)
  }
  const progress = await retryDuringOutage(() => database.transaction(read), outageObserver, signal)
  const { vaults = [], version = null } = progress ?? {}
  if (vaults.length > 0) run.expected = { ...run.expected, version }
  return vaults
}
