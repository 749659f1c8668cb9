import type { Address } from 'viem'
import { ContractMismatch, type LogsIncomplete, PriceUnavailable } from '../errors.ts'
import type { Header } from '../rpc/block.ts'

/** A vault whose facts are not read from some second on, for a permanent reason. */
export interface SetAsideVault {
  readonly address: Address
  /** A sentence without a full stop. */
  readonly reason: string
  /** The first block from which the vault's facts are missing. */
  readonly block: number
}

/** A vault that lags behind the others, with the first block of the second to resume from. */
export interface LateVault extends Pick<Header, 'number' | 'hash'> {
  readonly address: Address
}

/** A fault of one vault. */
export type VaultFault = ContractMismatch | PriceUnavailable | LogsIncomplete

/**
 * Awaits work about one vault, and adds the vault to its errors.
 * @param vault undefined where it is unknown
 * @throws {ContractMismatch} with the vault to set aside, when a contract does not answer as required
 */
export async function aboutVault<Value>(vault: Address | undefined, work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ContractMismatch) || error.vault !== undefined) throw error
    // Create a new error: calls are shared, so that another vault may receive the same one.
    throw new ContractMismatch(error.address, error.block, error.problem, vault)
  }
}

/** Collects the faults of vaults, so that the facts of the other vaults are still read. */
export class VaultFaults {
  readonly #faults = new Map<Address, VaultFault>()

  get found(): ReadonlyMap<Address, VaultFault> {
    return this.#faults
  }

  /** Records a fault, unless the vault already has one. */
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

  /** Runs synchronous work for one vault, in the same way. */
  in<Value>(vault: Address, work: () => Value): Value | null {
    try {
      return work()
    } catch (error) {
      return this.#note(vault, error)
    }
  }

  /** @throws any error that is not a fault of the vault */
  #note(vault: Address, error: unknown): null {
    if (!(error instanceof ContractMismatch) && !(error instanceof PriceUnavailable)) throw error
    this.add(vault, error)
    return null
  }
}
