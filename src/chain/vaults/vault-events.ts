import {
  type Address,
  decodeEventLog,
  getAddress,
  type Hex,
  padHex,
  parseAbi,
  toEventSelector,
  zeroAddress,
} from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { ContractMismatch } from '../errors.ts'

/**
 * A change that a vault's log reports: flows by ERC-4626, new shares by ERC-20, and by OpenZeppelin's contracts suspension
 * and a new owner.
 * @see ERC-4626, https://eips.ethereum.org/EIPS/eip-4626, events Deposit and Withdraw
 * @see https://docs.openzeppelin.com/contracts/api/utils#Pausable
 * @see https://docs.openzeppelin.com/contracts/api/access#Ownable
 */
export type VaultChange =
  | { readonly kind: 'deposited'; readonly assets: bigint; readonly owner: Address; readonly shares: bigint }
  | { readonly kind: 'withdrawn'; readonly assets: bigint }
  | { readonly kind: 'minted'; readonly to: Address; readonly shares: bigint }
  | { readonly kind: 'owned'; readonly owner: Address }
  | { readonly kind: 'paused'; readonly by: string }
  | { readonly kind: 'unpaused' }

const vaultEvents = parseAbi([
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  'event Paused(address account)',
  'event Unpaused(address account)',
  'event OwnershipTransferred(address indexed previousOwner, address indexed newOwner)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

const selectors = vaultEvents.map(toEventSelector)
const [owned, transfer] = selectors.slice(-2) as [Hex, Hex]
const nobody = padHex(zeroAddress, { size: 32 })

/** First topics of the vault events, without those of transfers. */
export const vaultTopics: readonly Hex[] = selectors.filter((topic) => topic !== transfer)

/** Topics of the transfers that create shares. */
export const mintTopics: readonly (readonly Hex[])[] = [[transfer], [nobody]]

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
  const [first = '0x', from] = log.topics
  if (!selectors.includes(first)) return null
  // Contracts of other standards log these with other parameters, which say nothing of an owner or of shares.
  if ([owned, transfer].includes(first) && log.topics.length !== 3) return null
  if (first === transfer && from !== nobody) return null
  const { eventName, args } = decodeResult(log)
  switch (eventName) {
    case 'Deposit':
      return { kind: 'deposited', assets: args.assets, owner: args.owner, shares: args.shares }
    case 'Withdraw':
      return { kind: 'withdrawn', assets: args.assets }
    case 'Paused':
      return { kind: 'paused', by: getAddress(args.account) }
    case 'Unpaused':
      return { kind: 'unpaused' }
    case 'OwnershipTransferred':
      return { kind: 'owned', owner: args.newOwner }
    case 'Transfer':
      return { kind: 'minted', to: args.to, shares: args.value }
  }
}

function decodeResult({ address, topics, data, block }: ChainLog) {
  try {
    return decodeEventLog({ abi: vaultEvents, topics: topics as [Hex, ...Hex[]], data })
  } catch {
    throw new ContractMismatch(getAddress(address), block, 'has logged an event in another form than its standard')
  }
}
