import type { CacheTag } from './change-listener.ts'
import type { ReadDependency } from '../database.ts'

const allVaults = 'all vaults'

/** Returns tags without those of single vaults where the tag of all vaults is among them, which changes with each vault. */
export function fewestTags(tags: Set<CacheTag>): Set<CacheTag> {
  return tags.has(allVaults) ? new Set([...tags].filter((tag) => !tag.startsWith('0x'))) : tags
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
  return [...vaults, ...(vaults.length === 0 ? [] : [allVaults]), ...changed]
}
