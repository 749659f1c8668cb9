import { type Address, getAddress, parseAbi, zeroAddress } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { VaultChange } from './vault-adapter.ts'
import { vaultAbi } from './vault-events.ts'
import { type LoggedChange, mayMintFees, readFeeRecipients, withoutDepositMints } from './vault-fees.ts'
import type { VaultKinds } from './vault-kinds.ts'

const stateAbi = parseAbi(['function paused() view returns (bool)'])

/** State of a vault that its logs report; null where a contract does not answer. */
interface VaultState {
  readonly supply: bigint | null
  readonly owner: Address | null
  /** Whether each of the contracts that emit logs about the vault is paused. */
  readonly paused: readonly (boolean | null)[]
}

/**
 * Compares the logs of vaults with the changes of their share supply, suspension and owner, to detect logs that a node
 * leaves out, or that are not there. A vault may also change without a log, such as by fees for unconfigured accounts.
 */
export class ExplainedState {
  #newest: BlockState | null = null

  constructor(readonly kinds: VaultKinds) {}

  /** Returns the vaults whose state changed between the ends of two blocks otherwise than the logs show. */
  async lacking(
    vaults: readonly Address[],
    logs: readonly ChainLog[],
    [before, after]: readonly [BlockState, BlockState],
  ): Promise<Address[]> {
    const known = this.#newest?.block.hash === before.block.hash ? this.#newest : before
    const states = [known, after] as const
    const ofEmitters = groupBy(logs, ({ address }) => getAddress(address))
    const are = await Promise.all(vaults.map((vault) => this.#isLacking(vault, ofEmitters, states)))
    this.#newest = after
    return vaults.filter((_, index) => are[index])
  }

  async #isLacking(
    vault: Address,
    logs: ReadonlyMap<Address, readonly ChainLog[]>,
    states: readonly [BlockState, BlockState],
  ): Promise<boolean> {
    const emitters = this.kinds.emittersOf(vault)
    const changes = emitters.map((emitter) => this.#changesIn(vault, logs.get(emitter) ?? []))
    const [own = null] = changes
    const [[from, to], recipients] = await Promise.all([
      Promise.all([readState(states[0], vault, emitters), readState(states[1], vault, emitters)]),
      this.#recipientsOf(vault, own ?? [], states),
    ])
    const told = sharesIn(own, recipients)
    // The reader sets the vault aside for a log that cannot be decoded.
    if (told === null || own === null || to.supply === null) return false
    const owner = own.flatMap(({ change }) => (change.kind === 'owned' ? [change.owner] : [])).at(-1) ?? from.owner
    return (
      to.supply - (from.supply ?? 0n) !== told ||
      isOther(owner, to.owner) ||
      to.paused.some((paused, index) => isOther(pausedAfter(changes[index] ?? [], from.paused[index] ?? null), paused))
    )
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

  /** Returns the changes in logs about a vault, without the mints of deposits; null where a log cannot be decoded. */
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

/**
 * Returns whether a contract is paused after changes.
 * @returns null where that is unknown; `unordered` where a pause follows another one, or an end of one does
 */
function pausedAfter(changes: readonly LoggedChange[] | null, before: boolean | null): boolean | null | 'unordered' {
  const told = (changes ?? []).flatMap(({ change: { kind } }) =>
    kind === 'paused' || kind === 'unpaused' ? [kind === 'paused'] : [],
  )
  const all = before === null ? told : [before, ...told]
  return all.some((paused, index) => paused === all[index - 1]) ? 'unordered' : (all.at(-1) ?? null)
}

/** Returns whether a state is known, and differs from another known one. */
function isOther<Value>(told: Value | null, found: Value | null): boolean {
  return told !== null && found !== null && told !== found
}

/** Reads the state of a vault; before its creation it has no shares and no owner, and is not paused. */
async function readState(state: BlockState, vault: Address, emitters: readonly Address[]): Promise<VaultState> {
  const [supply, owner, paused] = await Promise.all([
    state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
    state.read(contractCall(vaultAbi, vault, 'owner', [])),
    Promise.all(emitters.map((emitter) => state.read(contractCall(stateAbi, emitter, 'paused', [])))),
  ])
  const isThere = supply !== null
  return { supply, owner: isThere ? owner : zeroAddress, paused: isThere ? paused : emitters.map(() => false) }
}
