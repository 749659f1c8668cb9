import { decodeEventLog, getAddress, type Hex, parseAbi, toEventSelector } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { UnlikeItsStandard } from '../errors.ts'

/** What a vault's own logs say: capital by ERC-4626, suspension by Pausable. */
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

/** First topics of those logs. */
export const vaultTopics: readonly Hex[] = vaultEvents.map(toEventSelector)

/** The functions of a vault that are read. */
export const vaultAbi = parseAbi(['function asset() view returns (address)', 'function owner() view returns (address)'])

/** The functions of a token that are read. */
export const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
])

/**
 * Null where the log says nothing of the kind.
 * @throws {UnlikeItsStandard} where it has the name of such an event, and other contents
 */
export function readVaultLog(log: ChainLog): VaultChange | null {
  if (!vaultTopics.includes(log.topics[0] ?? '0x')) return null
  const { eventName, args } = decoded(log)
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

function decoded({ address, topics, data, block }: ChainLog) {
  try {
    return decodeEventLog({ abi: vaultEvents, topics: topics as [Hex, ...Hex[]], data })
  } catch {
    throw new UnlikeItsStandard(getAddress(address), block, 'has logged an event in another form than its standard')
  }
}
