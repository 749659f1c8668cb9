import type { BytePosition } from '../../../database/write/feed.ts'
import { containsPosition, extendsBeyond } from '../file-position.ts'
import type { FollowedPath } from './followed-file.ts'
import { allGenerations, fromNewest, fromOldest, type RotatedFileChoice } from './rotated-files.ts'

type Followed = Pick<FollowedPath, 'readUntil' | 'signal'>

/**
 * Returns a choice of the newest rotated file that contains a position, and of those that were written after it, or since the feed was
 * read to its end last: lines may have come late in one that is older than the next. Of all without a position.
 */
export function fromNewestContaining(followed: Followed, position: BytePosition | null): RotatedFileChoice {
  if (position === null) return allGenerations
  return fromNewest(readUntilNs(followed), (handle) => containsPosition(handle, position, followed.signal))
}

/**
 * Returns a choice of the oldest rotated file that contains a position and has more which may not be applied, and of those
 * after it. Files may begin alike, so that a newer one contains the position as well.
 * @param followed its feed, of which all that was written before `readUntil` is applied
 */
export function fromOldestExtending(followed: Followed, position: BytePosition): RotatedFileChoice {
  return fromOldest(readUntilNs(followed), (handle) => extendsBeyond(handle, position, followed.signal))
}

/** Returns the time at which a feed was read to its end last, in nanoseconds; null where it never was. */
export function readUntilNs({ readUntil }: Pick<FollowedPath, 'readUntil'>): bigint | null {
  return readUntil === null ? null : BigInt(readUntil) * 1_000_000_000n
}
