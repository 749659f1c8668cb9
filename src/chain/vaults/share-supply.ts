import { type Address, getAddress } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { VaultChange } from './vault-adapter.ts'
import { vaultAbi } from './vault-events.ts'
import { type LoggedChange, mayMintFees, readFeeRecipients, withoutDepositMints } from './vault-fees.ts'
import type { VaultKinds } from './vault-kinds.ts'

/**
 * Compares the logs of deposits and withdrawals with the share supply, to detect logs that a node leaves out: no other
 * state reveals them. A vault may also have shares without such a log, such as fees for unconfigured accounts: after
 * repeated reads its logs are accepted, and it is not checked any more.
 */
export class ShareSupply {
  /** Vaults whose supply their logs do not explain, and that are not checked any more. */
  readonly #unexplained = new Set<Address>()
  #newest: BlockState | null = null

  constructor(readonly kinds: VaultKinds) {}

  /** Returns the vaults whose supply changed between the ends of two blocks by another number than the logs show. */
  async lacking(
    vaults: readonly Address[],
    logs: readonly ChainLog[],
    [before, after]: readonly [BlockState, BlockState],
  ): Promise<Address[]> {
    const checked = vaults.filter((vault) => !this.#unexplained.has(vault))
    const known = this.#newest?.block.hash === before.block.hash ? this.#newest : before
    const states = [known, after]
    const ofVaults = groupBy(logs, ({ address }) => getAddress(address))
    const changes = checked.map((vault) => this.#changesIn(vault, ofVaults.get(vault) ?? []))
    const [[from, to], recipients] = await Promise.all([
      Promise.all(states.map((state) => readSupplies(state, checked))),
      Promise.all(checked.map((vault, index) => this.#recipientsOf(vault, changes[index] ?? [], states))),
    ])
    this.#newest = after
    return checked.filter((_, index) => {
      const told = sharesIn(changes[index] ?? null, recipients[index] ?? [])
      const last = to?.[index] ?? null
      // Before its creation a vault has no shares.
      return told !== null && last !== null && last - (from?.[index] ?? 0n) !== told
    })
  }

  /** Excludes vaults from further checks. */
  believe(vaults: readonly Address[]): void {
    for (const vault of vaults) this.#unexplained.add(vault)
  }

  /** Returns the accounts whose new shares are fees at either of these blocks, where the changes may contain fees. */
  async #recipientsOf(
    vault: Address,
    changes: readonly LoggedChange[],
    states: readonly BlockState[],
  ): Promise<Address[]> {
    const mayContainFees = mayMintFees(this.kinds, vault) && changes.some(({ change }) => change.kind === 'minted')
    return mayContainFees ? readFeeRecipients(this.kinds, vault, states) : []
  }

  /** Returns the changes in logs of a vault, without the mints of deposits; null where a log cannot be decoded. */
  #changesIn(vault: Address, logs: readonly ChainLog[]): LoggedChange[] | null {
    const { adapter } = this.kinds.of(vault)
    try {
      return withoutDepositMints(
        logs.flatMap((log): LoggedChange[] => {
          const change = adapter.decodeLog(log)
          return change === null ? [] : [{ change, log }]
        }),
      )
    } catch (error) {
      // The reader sets the vault aside for this log.
      if (error instanceof ContractMismatch) return null
      throw error
    }
  }
}

/** Returns the net number of shares that changes mint; null where they are unknown. */
function sharesIn(changes: readonly LoggedChange[] | null, recipients: readonly Address[]): bigint | null {
  if (changes === null) return null
  const isOther = ({ change }: LoggedChange): boolean => change.kind === 'minted' && !recipients.includes(change.to)
  return changes.filter((one) => !isOther(one)).reduce((sum, { change }) => sum + sharesOf(change), 0n)
}

/** Returns the shares that a change mints; negative where it burns some. */
function sharesOf(change: VaultChange): bigint {
  if (change.kind === 'deposited' || change.kind === 'minted') return change.shares
  return change.kind === 'withdrawn' ? -change.shares : 0n
}

/** Reads the share supply of vaults; null where a vault does not answer. */
function readSupplies(state: BlockState, vaults: readonly Address[]): Promise<(bigint | null)[]> {
  return Promise.all(vaults.map((vault) => state.read(contractCall(vaultAbi, vault, 'totalSupply', []))))
}
