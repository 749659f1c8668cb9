import type { Hex } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ContractMismatch } from '../errors.ts'
import { contractExists } from '../rpc/contract-existence.ts'
import type { BlockState } from '../rpc/multicall.ts'

/**
 * Verifies that a vault is created in its first block.
 * @throws {ContractMismatch} when it is there before, or not yet
 */
export async function requireCreation(
  state: BlockState,
  parentHash: Hex,
  { address, firstBlock }: VaultConfig,
): Promise<void> {
  const [before, now] = await Promise.all([
    contractExists(state.rpc, address, { number: state.block.number - 1, hash: parentHash }),
    contractExists(state.rpc, address, state.block),
  ])
  if (before) throw new ContractMismatch(address, firstBlock - 1, 'is there before its firstBlock, already')
  if (!now) throw new ContractMismatch(address, firstBlock, 'is not there in its firstBlock, not yet')
}
