import type { FileHandle } from 'node:fs/promises'
import { type BytePosition, isSamePosition } from '../../../database/write/feed.ts'
import { containsPosition, type FileStart } from '../file-position.ts'

/** Where a file begins in its feed; unknown where an earlier run has begun it. */
export type FileBeginning =
  | {
      readonly isKnown: true
      /** Position at the end of the file before it; null where nothing was applied before it. */
      readonly after: BytePosition | null
    }
  | { readonly isKnown: false }

export const unknownBeginning: FileBeginning = { isKnown: false }

/**
 * Returns where a file begins that is opened to continue the feed.
 * @param stored position of the feed, after which it begins unless it contains that
 */
export function beginningOfFile({ containsApplied }: FileStart, stored: BytePosition | null): FileBeginning {
  return containsApplied ? unknownBeginning : { isKnown: true, after: stored }
}

/** Tells whether a feed can continue at a position in a file: the file contains it, or begins there. */
export async function canContinueIn(
  { handle, beginning }: { readonly handle: FileHandle; readonly beginning: FileBeginning },
  position: BytePosition | null,
): Promise<boolean> {
  return (beginning.isKnown && isSamePosition(beginning.after, position)) || containsPosition(handle, position)
}
