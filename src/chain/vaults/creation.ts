import { type Address, type Hex, zeroAddress } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ContractMismatch } from '../errors.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import { contractExists } from '../rpc/contract-existence.ts'
import { BlockState } from '../rpc/multicall.ts'
import type { VaultAdapter } from './vault-adapter.ts'
import { vaultAbi } from './vault-events.ts'

/**
 * Verifies that a vault is created in its first block, or initialised in it: a factory may create a proxy that is
 * initialised later.
 * @throws {ContractMismatch} when the vault exists before that block, or not yet in it
 */
export async function requireCreation(
  state: BlockState,
  parentHash: Hex,
  { address, firstBlock }: VaultConfig,
  adapter: VaultAdapter,
): Promise<void> {
  const { rpc, multicall, block } = state
  const parent = { number: block.number - 1, hash: parentHash }
  const [before, now] = await Promise.all([contractExists(rpc, address, parent), contractExists(rpc, address, block)])
  if (!now) throw new ContractMismatch(address, firstBlock, 'is not there in its firstBlock, not yet')
  if (!before) return
  if (await isInitialised(new BlockState(rpc, multicall, parent), address, adapter)) {
    throw new ContractMismatch(address, firstBlock - 1, 'is there before its firstBlock, already')
  }
  if (await isInitialised(state, address, adapter)) return
  throw new ContractMismatch(address, firstBlock, 'is not initialised in its firstBlock, not yet')
}

/** Returns whether a vault has shares, or has an owner and assets. */
async function isInitialised(state: BlockState, vault: Address, adapter: VaultAdapter): Promise<boolean> {
  const supply = await state.read(contractCall(vaultAbi, vault, 'totalSupply', []))
  if (supply !== null && supply > 0n) return true
  try {
    const { owner, assets } = await adapter.readTerms(state, vault)
    return ![owner, ...assets].includes(zeroAddress)
  } catch (error) {
    if (error instanceof ContractMismatch) return false
    throw error
  }
}
