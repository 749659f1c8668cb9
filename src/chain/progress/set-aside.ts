import type { Address } from 'viem'
import { ContractMismatch, type LogsIncomplete, PriceUnavailable } from '../errors.ts'
import type { Header } from '../rpc/block.ts'

/** A vault whose facts are not read from some second on, for a reason that waiting does not change. */
export interface SetAsideVault {
  readonly address: Address
  /** A sentence without a full stop. */
  readonly reason: string
  /** The first block without its facts. */
  readonly block: number
}

/** A vault that is behind the others, with the first block of the second to read it from. */
export interface LateVault extends Pick<Header, 'number' | 'hash'> {
  readonly address: Address
}

/** A fault of one vault. */
export type VaultFault = ContractMismatch | PriceUnavailable | LogsIncomplete

/**
 * Awaits work about one vault.
 * @param vault undefined where it is unknown
 * @throws {ContractMismatch} with the vault, so that it is set aside, where a contract does not answer as it must
 */
export async function aboutVault<Value>(vault: Address | undefined, work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ContractMismatch) || error.vault !== undefined) throw error
    // Calls are shared: the same error may be about another vault, too.
    throw new ContractMismatch(error.address, error.block, error.problem, vault)
  }
}

/** Collects the faults of vaults, so that the facts of the others are read all the same. */
export class VaultFaults {
  readonly #faults = new Map<Address, VaultFault>()

  get found(): ReadonlyMap<Address, VaultFault> {
    return this.#faults
  }

  /** Notes a fault. The first one of a vault stands. */
  add(vault: Address, fault: VaultFault): void {
    if (!this.#faults.has(vault)) this.#faults.set(vault, fault)
  }

  /**
   * Awaits work for one vault.
   * @returns null where it fails by a fault of the vault
   */
  async of<Value>(vault: Address, work: Promise<Value>): Promise<Value | null> {
    try {
      return await work
    } catch (error) {
      return this.#note(vault, error)
    }
  }

  /** Does work for one vault at once, in the same way. */
  in<Value>(vault: Address, work: () => Value): Value | null {
    try {
      return work()
    } catch (error) {
      return this.#note(vault, error)
    }
  }

  /** @throws the error where it is one of the nodes or the whole chain */
  #note(vault: Address, error: unknown): null {
    if (!(error instanceof ContractMismatch) && !(error instanceof PriceUnavailable)) throw error
    this.add(vault, error)
    return null
  }
}
