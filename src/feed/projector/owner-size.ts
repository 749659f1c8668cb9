import { largeOwnerVaults } from '../../database/write/vaults/vault-tally.ts'

/** A vault by what makes its owner large or not. */
interface OwnedVault {
  readonly owner: string
  readonly ownerIsLarge: boolean
}

/** Counts the vaults that owners have or got before they were large, while a batch of facts gives them more. */
export class OwnerSizes {
  readonly #smallVaults: Map<string, number>

  /** @param smallVaults number of such vaults of each owner who gets one, where there are any */
  constructor(smallVaults: ReadonlyMap<string, number>) {
    this.#smallVaults = new Map(smallVaults)
  }

  /** Counts a vault that an owner opens or gets. Returns whether it has many before. */
  add(owner: string): boolean {
    const count = this.#smallVaults.get(owner) ?? 0
    if (count >= largeOwnerVaults) return true
    this.#smallVaults.set(owner, count + 1)
    return false
  }

  /** Counts a vault for its new owner in place of its old one. Returns whether the new one has many before. */
  move(vault: OwnedVault, owner: string): boolean {
    if (owner === vault.owner) return vault.ownerIsLarge
    const count = this.#smallVaults.get(vault.owner)
    // Owners who get none in this batch are not known, and need not be.
    if (count !== undefined && !vault.ownerIsLarge) this.#smallVaults.set(vault.owner, count - 1)
    return this.add(owner)
  }
}
