import { type Abi, decodeEventLog, getAddress, type Hex, padHex, parseAbi, toEventSelector, zeroAddress } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { ContractMismatch } from '../errors.ts'
import type { VaultChange } from './vault-adapter.ts'

/**
 * Events that vaults of all kinds may log: ERC-20 transfers that mint shares, and OpenZeppelin's Pausable and Ownable.
 * @see https://docs.openzeppelin.com/contracts/api/utils#Pausable
 * @see https://docs.openzeppelin.com/contracts/api/access#Ownable
 */
const commonEvents = parseAbi([
  'event Paused(address account)',
  'event Unpaused(address account)',
  'event OwnershipTransferred(address indexed previousOwner, address indexed newOwner)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

const selectors = commonEvents.map(toEventSelector)
const [owned, transfer] = selectors.slice(-2) as [Hex, Hex]
const nobody = padHex(zeroAddress, { size: 32 })

/** First topics of the common events, except transfers. */
export const commonTopics: readonly Hex[] = selectors.filter((topic) => topic !== transfer)

/** Topics of the transfers that mint shares. */
export const mintTopics: readonly (readonly Hex[])[] = [[transfer], [nobody]]

/** ABI of the functions that vaults of all kinds may have. */
export const vaultAbi = parseAbi([
  'function owner() view returns (address)',
  'function totalSupply() view returns (uint256)',
  'function ownerOf(uint256 tokenId) view returns (address)',
])

/** ABI of the ERC-20 functions that are read. */
export const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
])

/**
 * Decodes a common log of vaults.
 * @returns null for any other log
 * @throws {ContractMismatch} when the topic matches, but the contents do not
 */
export function readCommonLog(log: ChainLog): VaultChange | null {
  const [first = '0x', from] = log.topics
  if (!selectors.includes(first)) return null
  // Contracts of other standards log these events with different parameters, unrelated to owners or shares.
  if ([owned, transfer].includes(first) && log.topics.length !== 3) return null
  if (first === transfer && from !== nobody) return null
  const { eventName, args } = decodeStandardLog(commonEvents, log)
  switch (eventName) {
    case 'Paused':
      return { kind: 'paused', by: getAddress(args.account) }
    case 'Unpaused':
      return { kind: 'unpaused' }
    case 'OwnershipTransferred':
      return { kind: 'owned', owner: args.newOwner }
    case 'Transfer':
      // In some tokens anyone can make a transfer of nothing in any name.
      return args.value === 0n ? null : { kind: 'minted', to: args.to, shares: args.value }
  }
}

/**
 * Decodes a log whose first topic matches an event of an ABI.
 * @throws {ContractMismatch} when the contents do not match
 */
export function decodeStandardLog<const abi extends Abi>(abi: abi, { address, topics, data, block }: ChainLog) {
  try {
    return decodeEventLog({ abi, topics: topics as [Hex, ...Hex[]], data })
  } catch {
    throw new ContractMismatch(getAddress(address), block, 'has logged an event in another form than its standard')
  }
}
