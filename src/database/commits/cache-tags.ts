import type { CacheTag } from './change-listener.ts'
import type { Read, ReadSource, Value } from '../database.ts'

/**
 * Returns the cache tags of a read's rows: the addresses of the vaults that it names, or its source.
 * @param values the values of its parameters
 */
export function tagsOf({ source }: Pick<Read, 'source'>, [keys]: readonly Value[]): readonly CacheTag[] {
  return source === 'named vaults' ? (keys as readonly string[]) : [source]
}

/** Removes the tags of single vaults where the tag of all vaults is present, which changes with each of them. */
export function withoutCovered(tags: ReadonlySet<CacheTag>): ReadonlySet<CacheTag> {
  if (!tags.has('all vaults')) return tags
  return new Set([...tags].filter((tag) => !tag.startsWith('0x')))
}

/**
 * Returns the cache tags that a batch of facts changes; none where no response can change.
 * @param vaults addresses of the changed vaults
 * @param others whether each of the other sources has changed
 */
export function changedTags(
  vaults: readonly string[],
  others: Readonly<Record<Exclude<ReadSource, 'named vaults' | 'all vaults' | 'feeds'>, boolean>>,
): CacheTag[] {
  const changed = Object.entries(others).flatMap(([name, isChanged]) => (isChanged ? [name] : []))
  return [...vaults, ...(vaults.length === 0 ? [] : ['all vaults']), ...changed]
}
