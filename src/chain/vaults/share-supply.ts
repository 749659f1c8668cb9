import { type Address, getAddress } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { VaultChange } from './vault-adapter.ts'
import { vaultAbi } from './vault-events.ts'
import { readFeeRecipient, type VaultFeeTerms, withoutDepositMints } from './vault-fees.ts'
import type { VaultKinds } from './vault-kinds.ts'

/**
 * Compares the logs of deposits and withdrawals with the number of shares, so that it is noticed where a node leaves some
 * out: no other state tells it. A vault may also have shares that no such log explains, such as fees for accounts that
 * nobody has named; then its logs are asked for again until they are believed, once.
 */
export class ShareSupply {
  /** Vaults whose shares are not explained by their logs. */
  readonly #unexplained = new Set<Address>()
  #newest: BlockState | null = null

  constructor(
    readonly kinds: VaultKinds,
    readonly feeTerms: VaultFeeTerms,
  ) {}

  /** Returns the vaults whose shares have changed between the ends of two blocks by another number than logs tell. */
  async lacking(
    vaults: readonly Address[],
    logs: readonly ChainLog[],
    [before, after]: readonly [BlockState, BlockState],
  ): Promise<Address[]> {
    const checked = vaults.filter((vault) => !this.#unexplained.has(vault))
    const known = this.#newest?.block.hash === before.block.hash ? this.#newest : before
    const states = [known, after]
    const [[from, to], recipients] = await Promise.all([
      Promise.all(states.map((state) => readSupplies(state, checked))),
      Promise.all(checked.map((vault) => this.#recipientsOf(vault, states))),
    ])
    this.#newest = after
    const ofVaults = groupBy(logs, ({ address }) => getAddress(address))
    return checked.filter((vault, index) => {
      const told = this.#sharesIn(vault, ofVaults.get(vault) ?? [], recipients[index] ?? [])
      const last = to?.[index] ?? null
      // Before its creation it has none.
      return told !== null && last !== null && last - (from?.[index] ?? 0n) !== told
    })
  }

  /** Believes the logs of vaults, from now on. */
  believe(vaults: readonly Address[]): void {
    for (const vault of vaults) this.#unexplained.add(vault)
  }

  /** Returns the accounts whose new shares are fees at either of these blocks. */
  async #recipientsOf(vault: Address, states: readonly BlockState[]): Promise<Address[]> {
    const terms = this.feeTerms.get(vault)
    if (terms === undefined) return []
    const named = terms.namesRecipient ? await Promise.all(states.map((state) => readFeeRecipient(state, vault))) : []
    return [...terms.recipients, ...named].filter((recipient) => recipient !== null)
  }

  /** Returns the shares that logs of a vault create; null where one of them cannot be read. */
  #sharesIn(vault: Address, logs: readonly ChainLog[], recipients: readonly Address[]): bigint | null {
    const { adapter } = this.kinds.of(vault)
    try {
      const changes = logs.flatMap((log): { change: VaultChange; log: ChainLog }[] => {
        const change = adapter.readLog(log)
        return change === null ? [] : [{ change, log }]
      })
      const isOther = ({ change }: (typeof changes)[number]): boolean =>
        change.kind === 'minted' && !recipients.includes(change.to)
      return withoutDepositMints(changes)
        .filter((one) => !isOther(one))
        .reduce((sum, { change }) => sum + sharesOf(change), 0n)
    } catch (error) {
      // Its logs set it aside.
      if (error instanceof ContractMismatch) return null
      throw error
    }
  }
}

/** Returns the shares that a change creates; less than 0 where it destroys some. */
function sharesOf(change: VaultChange): bigint {
  if (change.kind === 'deposited' || change.kind === 'minted') return change.shares
  return change.kind === 'withdrawn' ? -change.shares : 0n
}

/** Reads the numbers of shares of vaults; null where one does not answer. */
function readSupplies(state: BlockState, vaults: readonly Address[]): Promise<(bigint | null)[]> {
  return Promise.all(vaults.map((vault) => state.read(contractCall(vaultAbi, vault, 'totalSupply', []))))
}
