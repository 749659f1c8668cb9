import type { Database } from '../../database/database.ts'
import {
  type ProgressOfVaults,
  readVaultProgress,
  type VaultProgress,
} from '../../database/write/vaults/vault-progress.ts'
import { type OutageObserver, retryDuringOutage } from '../retry.ts'
import type { Run } from '../run.ts'

/** Options of {@link readProgress}. */
export interface ProgressOptions {
  readonly database: Pick<Database, 'transaction'>
  readonly outageObserver?: OutageObserver
  readonly signal?: AbortSignal
}

/**
 * Reads how far vaults have been applied, by which a source leaves facts out. The next batches of the run verify that the
 * database still contains what was read, until one has brought new facts.
 * @returns no vaults where the run was aborted
 */
export async function readProgress(
  { database, outageObserver, signal }: ProgressOptions,
  run: Run,
  addresses: readonly string[],
): Promise<readonly VaultProgress[]> {
  const read = (): Promise<ProgressOfVaults> => readVaultProgress(database, addresses)
  const { vaults = [], version = null } = (await retryDuringOutage(read, outageObserver, signal)) ?? {}
  if (vaults.length > 0 && version !== null) run.expected = { ...run.expected, versionOfUncovered: version }
  return vaults
}
