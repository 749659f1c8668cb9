import { type Address, parseAbi } from 'viem'
import type { VaultConfig } from '../config.ts'
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

/** The ways in which a vault reports its fees. */
export interface FeeTerms {
  /** The configured recipients of fee shares. */
  readonly recipients: readonly Address[]
  /** Whether the vault answers `feeRecipient`. */
  readonly namesRecipient: boolean
  readonly tellsHighWater: boolean
}

/** The terms of vaults with fees that can be read. */
export interface VaultFeeTerms {
  /** Returns the terms of a vault; undefined where its fees cannot be read, or it does not exist yet. */
  get(vault: Address): FeeTerms | undefined
}

/** Reads the fee terms of vaults once, as soon as they exist: the facts do not depend on where reading starts. */
export class FeeTermsReader implements VaultFeeTerms {
  readonly #known = new Map<Address, FeeTerms | undefined>()

  constructor(readonly kinds: VaultKinds) {}

  get(vault: Address): FeeTerms | undefined {
    return this.#known.get(vault)
  }

  /** Reads the terms of the vaults that exist at a block and are not known yet; their kinds must be determined. */
  async resolve(state: BlockState): Promise<void> {
    const unknown = this.kinds.vaults.filter(
      ({ address, firstBlock }) => firstBlock <= state.block.number && !this.#known.has(address),
    )
    await Promise.all(
      unknown.map(async (vault) => this.#known.set(vault.address, await readTerms(state, vault, this.kinds))),
    )
  }
}

async function readTerms(
  state: BlockState,
  { address, feeRecipients: recipients = [] }: VaultConfig,
  kinds: VaultKinds,
): Promise<FeeTerms | undefined> {
  if (!kinds.of(address).adapter.mintsFees) return undefined
  const [namesRecipient, tellsHighWater] = await Promise.all([
    answers(state, address, 'feeRecipient'),
    answers(state, address, 'highWaterMark'),
  ])
  if (recipients.length === 0 && !namesRecipient && !tellsHighWater) return undefined
  return { recipients, namesRecipient, tellsHighWater }
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

/** Returns whether a vault pays fees in new shares. */
export function mintsFees(terms: FeeTerms | undefined): boolean {
  return terms !== undefined && (terms.recipients.length > 0 || terms.namesRecipient)
}

interface LoggedChange {
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

/** Reads the recipient of fees from a vault; null where the vault reports none. */
export function readFeeRecipient(state: BlockState, vault: Address): Promise<Address | null> {
  return state.read(contractCall(feeAbi, vault, 'feeRecipient', []))
}

/**
 * Returns the value of minted shares in assets at the end of a block, at the vault's share price. Null where the shares
 * are not a fee: the account is a fee recipient neither at this block nor at the previous one.
 * @throws {ContractMismatch} when the vault does not answer `convertToAssets`
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

/** Returns the assets of all shares at the vault's high-water mark (assets per whole share); null without a mark. */
export async function highWaterAssets(state: BlockState, vault: Address): Promise<bigint | null> {
  const [mark, supply, decimals] = await Promise.all([
    state.read(contractCall(feeAbi, vault, 'highWaterMark', [])),
    state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
    state.read(contractCall(feeAbi, vault, 'decimals', [])),
  ])
  // `decimals` is a uint8, but a contract may return more.
  if (mark === null || mark === 0n || supply === null || decimals === null || decimals > 255) return null
  return (supply * mark) / 10n ** BigInt(decimals)
}
