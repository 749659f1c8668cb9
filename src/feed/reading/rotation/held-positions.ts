import type { FeedPosition } from '../../../database/write/feed.ts'
import { containsPosition, extendsBeyond } from '../file-position.ts'
import type { FollowedPath } from '../growing-file.ts'
import { allGenerations, fromFile, fromOldest, type RotatedFileChoice } from './rotated-files.ts'

/** Returns a choice of the newest rotated file that holds a position, and of those after it; of all without a position. */
export function holdsPosition(position: FeedPosition | null, signal: AbortSignal): RotatedFileChoice {
  return position === null ? allGenerations : fromFile((handle) => containsPosition(handle, position, signal))
}

/**
 * Returns a choice of the oldest rotated file that holds a position and has more which may not be applied, and of those
 * after it. Files may begin alike, so that a newer one holds the position as well.
 * @param followed its feed, of which all that was written before `readUntil` is applied
 */
export function holdsUnread(
  { readUntil, signal }: Pick<FollowedPath, 'readUntil' | 'signal'>,
  position: FeedPosition,
): RotatedFileChoice {
  const sinceNs = readUntil === null ? null : BigInt(readUntil) * 1_000_000_000n
  return fromOldest(sinceNs, (handle) => extendsBeyond(handle, position, signal))
}
