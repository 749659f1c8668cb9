import type { CacheTag } from './change-listener.ts'
import type { ReadDependency } from '../database.ts'

/** Removes the tags of single vaults from a set with the tag of all vaults, which changes with each of them. */
export function withoutVaultTags(tags: ReadonlySet<CacheTag>): Set<CacheTag> {
  return new Set([...tags].filter((tag) => !tag.startsWith('0x')))
}

/**
 * Returns the cache tags that a batch of facts changes; none where no response can change.
 * @param vaults addresses of the changed vaults
 * @param others whether each of the other parts of the read model has changed
 */
export function changedTags(
  vaults: readonly string[],
  others: Readonly<Record<Exclude<ReadDependency, 'named vaults' | 'all vaults' | 'feeds'>, boolean>>,
): CacheTag[] {
  const changed = Object.entries(others).flatMap(([name, isChanged]) => (isChanged ? [name] : []))
  return [...vaults, ...(vaults.length === 0 ? [] : ['all vaults']), ...changed]
}
