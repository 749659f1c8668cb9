import { type Address, parseAbi, zeroAddress } from 'viem'
import { groupBy } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { VaultChange } from './vault-adapter.ts'
import { vaultAbi } from './vault-events.ts'
import type { VaultKinds } from './vault-kinds.ts'

const feeAbi = parseAbi([
  'function feeRecipient() view returns (address)',
  'function highWaterMark() view returns (uint256)',
  'function convertToAssets(uint256 shares) view returns (uint256)',
  'function decimals() view returns (uint8)',
])

/**
 * Returns whether a vault may pay fees in new shares, and answer `highWaterMark`. A vault may begin to answer these
 * functions at any block: they are called at each block for which their results count.
 */
export function mayMintFees(kinds: VaultKinds, vault: Address): boolean {
  return kinds.of(vault).adapter.mintsFees
}

/** Returns the recipients of a vault's fee shares that the file names. */
export function configuredRecipients({ vaults }: VaultKinds, vault: Address): readonly Address[] {
  return vaults.find(({ address }) => address === vault)?.feeRecipients ?? []
}

/** Returns the recipients of fee shares at blocks: the configured ones, and those that the vault reports there. */
export async function readFeeRecipients(
  kinds: VaultKinds,
  vault: Address,
  states: readonly BlockState[],
): Promise<Address[]> {
  const named = await Promise.all(states.map((state) => readFeeRecipient(state, vault)))
  const recipients = named.filter((recipient) => recipient !== null)
  return [...configuredRecipients(kinds, vault), ...recipients.filter((recipient) => recipient !== zeroAddress)]
}

/** A change of a vault, with the log that reports it. */
export interface LoggedChange {
  readonly change: VaultChange
  readonly log: ChainLog
}

/**
 * Returns the changes of one vault without the mints of deposits: the last mint of the same number of shares to the
 * same account in the transaction. Fee shares that are minted before a deposit remain.
 */
export function withoutDepositMints<One extends LoggedChange>(changes: readonly One[]): One[] {
  const explained = new Set<One>()
  for (const some of groupBy(changes, ({ log }) => log.txHash).values()) {
    const mints = groupBy(some, ({ change }) => (change.kind === 'minted' ? `${change.to} ${change.shares}` : ''))
    for (const { change } of some) {
      if (change.kind !== 'deposited') continue
      const mint = mints.get(`${change.owner} ${change.shares}`)?.pop()
      if (mint !== undefined) explained.add(mint)
    }
  }
  return changes.filter((one) => !explained.has(one))
}

/** Reads the recipient of fees from a vault; null where the vault reports none. */
export function readFeeRecipient(state: BlockState, vault: Address): Promise<Address | null> {
  return state.read(contractCall(feeAbi, vault, 'feeRecipient', []))
}

/** Reads the high-water mark of a vault, in assets for one whole share; null where the vault reports none. */
export function readHighWaterMark(state: BlockState, vault: Address): Promise<bigint | null> {
  return state.read(contractCall(feeAbi, vault, 'highWaterMark', []))
}

/**
 * Returns the value of shares in assets at the end of a block, at the vault's share price.
 * @throws {ContractMismatch} when the vault does not answer `convertToAssets`
 */
export function feeAssets(state: BlockState, vault: Address, shares: bigint): Promise<bigint> {
  return state.readRequired(contractCall(feeAbi, vault, 'convertToAssets', [shares]))
}

/** Returns the assets of all shares at the vault's high-water mark (assets per whole share); null without a mark. */
export async function highWaterAssets(state: BlockState, vault: Address): Promise<bigint | null> {
  const [mark, supply, decimals] = await Promise.all([
    readHighWaterMark(state, vault),
    state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
    state.read(contractCall(feeAbi, vault, 'decimals', [])),
  ])
  // `decimals` is a uint8, but a contract may return more.
  if (mark === null || mark === 0n || supply === null || decimals === null || decimals > 255) return null
  return (supply * mark) / 10n ** BigInt(decimals)
}
