import type { Address, Hex } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ContractMismatch } from '../errors.ts'
import { contractExists } from '../rpc/contract-existence.ts'
import { type BlockState, contractCall } from '../rpc/multicall.ts'
import { vaultAbi } from './vault-events.ts'

/** The owner of a vault, and the token that it is denominated in. */
export interface VaultTerms {
  readonly owner: Address
  readonly asset: Address
}

/**
 * Reads a vault at the end of a block.
 * @throws {ContractMismatch} when it does not answer as ERC-4626 and Ownable require
 * @see ERC-4626, https://eips.ethereum.org/EIPS/eip-4626, asset and totalAssets
 */
export async function readVaultTerms(state: BlockState, vault: Address): Promise<VaultTerms> {
  const [owner, asset, ...totals] = await Promise.all([
    state.readRequired(contractCall(vaultAbi, vault, 'owner', [])),
    state.readRequired(contractCall(vaultAbi, vault, 'asset', [])),
    state.read(contractCall(vaultAbi, vault, 'totalAssets', [])),
    state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
  ])
  const silent = totals.indexOf(null)
  if (silent === -1) return { owner, asset }
  const name = ['totalAssets', 'totalSupply'][silent]
  const problem = `has an asset and doesn't answer ${name}(), so it isn't ERC-4626,`
  throw new ContractMismatch(vault, state.block.number, problem)
}

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
    contractExists(state.rpc, address, parentHash),
    contractExists(state.rpc, address, state.block.hash),
  ])
  if (before) throw new ContractMismatch(address, firstBlock - 1, 'is there before its firstBlock, already')
  if (!now) throw new ContractMismatch(address, firstBlock, 'is not there in its firstBlock, not yet')
}
