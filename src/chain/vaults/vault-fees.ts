import { type Address, parseAbi } from 'viem'
import { ContractMismatch } from '../errors.ts'
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

/** The fees of a vault that can be read. */
export interface FeeTerms {
  /** The configured recipients of fee shares. */
  readonly recipients: readonly Address[]
  /** Whether it names a recipient itself. */
  readonly namesRecipient: boolean
  readonly tellsHighWater: boolean
}

/** Vaults with fees that can be read; those without any are left out. */
export type VaultFeeTerms = ReadonlyMap<Address, FeeTerms>

/** Reads which fees vaults have, of those that can pay them by new shares. One that is not there yet may have all. */
export async function readFeeTerms(state: BlockState, kinds: VaultKinds): Promise<VaultFeeTerms> {
  const vaults = kinds.vaults.filter(({ address }) => kinds.of(address).adapter.mintsFees)
  const terms = await Promise.all(
    vaults.map(async ({ address, feeRecipients: recipients = [] }): Promise<[Address, FeeTerms]> => {
      const [namesRecipient, tellsHighWater] = await Promise.all([
        answers(state, address, 'feeRecipient'),
        answers(state, address, 'highWaterMark'),
      ])
      return [address, { recipients, namesRecipient, tellsHighWater }]
    }),
  )
  return new Map(terms.filter(([, one]) => one.recipients.length > 0 || one.namesRecipient || one.tellsHighWater))
}

async function answers(state: BlockState, vault: Address, name: 'feeRecipient' | 'highWaterMark'): Promise<boolean> {
  const call = contractCall(feeAbi, vault, name, [])
  try {
    await state.readIfThere<unknown, null>(call, null)
    return true
  } catch (error) {
    if (error instanceof ContractMismatch) return false
    throw error
  }
}

/** Tells whether fees of a vault are paid by new shares. */
export function mintsFees(terms: FeeTerms | undefined): boolean {
  return terms !== undefined && (terms.recipients.length > 0 || terms.namesRecipient)
}

interface LoggedChange {
  readonly change: VaultChange
  readonly log: ChainLog
}

/**
 * Returns the changes of one vault without the mints that deposits of the same transaction explain: those of as many
 * shares to the same account. Fees that a vault charges before a deposit stay.
 */
export function withoutDepositMints<One extends LoggedChange>(changes: readonly One[]): One[] {
  const explained = new Set<One>()
  for (const some of groupBy(changes, ({ log }) => log.txHash).values()) {
    for (const { change } of some) {
      if (change.kind !== 'deposited') continue
      const { owner, shares } = change
      const mint = some.findLast(
        (one) =>
          one.change.kind === 'minted' &&
          one.change.to === owner &&
          one.change.shares === shares &&
          !explained.has(one),
      )
      if (mint !== undefined) explained.add(mint)
    }
  }
  return changes.filter((one) => !explained.has(one))
}

/** Reads the account that a vault names as the recipient of its fees; null where it names none. */
export function readFeeRecipient(state: BlockState, vault: Address): Promise<Address | null> {
  return state.read(contractCall(feeAbi, vault, 'feeRecipient', []))
}

/**
 * Returns the assets that minted shares are worth at the end of a block, by the vault's own price of a share; null where
 * they are no fee, since the account is no recipient of fees, neither then nor in the block before.
 * @throws {ContractMismatch} when the vault does not answer for its share price
 */
export async function feeAssets(
  state: BlockState,
  before: BlockState,
  vault: Address,
  { recipients, namesRecipient }: FeeTerms,
  { to, shares }: Extract<VaultChange, { kind: 'minted' }>,
): Promise<bigint | null> {
  const named = namesRecipient ? await Promise.all([state, before].map((one) => readFeeRecipient(one, vault))) : []
  if (![...recipients, ...named].includes(to)) return null
  return state.readRequired(contractCall(feeAbi, vault, 'convertToAssets', [shares]))
}

/**
 * Returns the assets that all shares of a vault are worth at its high-water mark, which is in assets for one whole share;
 * null where it has none.
 */
export async function highWaterAssets(state: BlockState, vault: Address): Promise<bigint | null> {
  const [mark, supply, decimals] = await Promise.all([
    state.read(contractCall(feeAbi, vault, 'highWaterMark', [])),
    state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
    state.read(contractCall(feeAbi, vault, 'decimals', [])),
  ])
  // A uint8; some contract may answer more.
  if (mark === null || mark === 0n || supply === null || decimals === null || decimals > 255) return null
  return (supply * mark) / 10n ** BigInt(decimals)
}
