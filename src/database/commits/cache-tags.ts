import type { CacheTag } from './change-listener.ts'
import type { Origin, Read, Value } from '../database.ts'

/** The tags of a read's rows. */
export function tagsOf({ from }: Read, [named]: readonly Value[]): readonly CacheTag[] {
  return from === 'named vaults' ? (named as readonly string[]) : [from]
}

/** Tags without those of single vaults where that of all vaults is among them: it changes with each of them. */
export function withoutCovered(tags: ReadonlySet<CacheTag>): ReadonlySet<CacheTag> {
  if (!tags.has('all vaults')) return tags
  return new Set([...tags].filter((tag) => !tag.startsWith('0x')))
}

/** The tags of what a batch of facts changes; none where it changes nothing that is served. */
export function changedTags(
  vaults: readonly string[],
  others: Readonly<Record<Exclude<Origin, 'named vaults' | 'all vaults' | 'feeds'>, boolean>>,
): CacheTag[] {
  const named = Object.entries(others).flatMap(([name, isChanged]) => (isChanged ? [name] : []))
  return [...vaults, ...(vaults.length === 0 ? [] : ['all vaults']), ...named]
}
