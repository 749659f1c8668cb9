import { decodeEventLog, getAddress, type Hex, parseAbi, toEventSelector } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { ContractMismatch } from '../errors.ts'

/**
 * A change that a vault's log reports: flows by ERC-4626, suspension by OpenZeppelin's Pausable.
 * @see ERC-4626, https://eips.ethereum.org/EIPS/eip-4626, events Deposit and Withdraw
 * @see https://docs.openzeppelin.com/contracts/api/utils#Pausable
 */
export type VaultChange =
  | { readonly kind: 'deposited' | 'withdrawn'; readonly assets: bigint }
  | { readonly kind: 'paused'; readonly by: string }
  | { readonly kind: 'unpaused' }

const vaultEvents = parseAbi([
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  'event Paused(address account)',
  'event Unpaused(address account)',
])

/** First topics of the vault events. */
export const vaultTopics: readonly Hex[] = vaultEvents.map(toEventSelector)

/** ABI of the vault functions that are read. */
export const vaultAbi = parseAbi([
  'function asset() view returns (address)',
  'function owner() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function ownerOf(uint256 tokenId) view returns (address)',
])

/** ABI of the ERC-20 functions that are read. */
export const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
])

/**
 * Decodes a vault's log.
 * @returns null where it is none of the vault events
 * @throws {ContractMismatch} when it has the topic of a vault event, but other contents
 */
export function readVaultLog(log: ChainLog): VaultChange | null {
  if (!vaultTopics.includes(log.topics[0] ?? '0x')) return null
  const { eventName, args } = decodeResult(log)
  switch (eventName) {
    case 'Deposit':
      return { kind: 'deposited', assets: args.assets }
    case 'Withdraw':
      return { kind: 'withdrawn', assets: args.assets }
    case 'Paused':
      return { kind: 'paused', by: getAddress(args.account) }
    case 'Unpaused':
      return { kind: 'unpaused' }
  }
}

function decodeResult({ address, topics, data, block }: ChainLog) {
  try {
    return decodeEventLog({ abi: vaultEvents, topics: topics as [Hex, ...Hex[]], data })
  } catch {
    throw new ContractMismatch(getAddress(address), block, 'has logged an event in another form than its standard')
  }
}
