import { largeOwnerVaults } from '../../database/write/vaults/vault-tally.ts'

/** The owner of a vault, and whether the owner was large when receiving it. */
interface OwnedVault {
  readonly owner: string
  readonly ownerIsLarge: boolean
}

/** Counts the vaults that owners received before they were large, while a batch of facts assigns more. */
export class OwnerSizes {
  readonly #smallVaults: Map<string, number>

  /** @param smallVaults number of such vaults by owner, of the owners who receive a vault in the batch; absent where 0 */
  constructor(smallVaults: ReadonlyMap<string, number>) {
    this.#smallVaults = new Map(smallVaults)
  }

  /** Counts a vault that an owner opens or receives. Returns whether the owner was large before. */
  add(owner: string): boolean {
    const count = this.#smallVaults.get(owner) ?? 0
    if (count >= largeOwnerVaults) return true
    this.#smallVaults.set(owner, count + 1)
    return false
  }

  /** Counts a vault for its new owner instead of the previous one. Returns whether the new owner was large before. */
  move(vault: OwnedVault, owner: string): boolean {
    if (owner === vault.owner) return vault.ownerIsLarge
    const count = this.#smallVaults.get(vault.owner)
    // Only owners who receive a vault in this batch are loaded: no others are checked.
    if (count !== undefined && !vault.ownerIsLarge) this.#smallVaults.set(vault.owner, count - 1)
    return this.add(owner)
  }
}
