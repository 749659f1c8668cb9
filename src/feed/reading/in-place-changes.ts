import type { FileHandle } from 'node:fs/promises'
import { readBytes } from './open-file.ts'
import { PrefixDigest } from './prefix-digest.ts'

/** The file is read again at most this share of the time, however often it is touched. */
const maxShare = 1 / 20

/** Detects changes in place of what was read of a file. */
export interface InPlaceChangeDetector {
  /**
   * Reads the file again where it was written to without growing, or on request.
   * @param isLast whether the file is left now: it is read again whatever its times are
   * @returns whether what was read is something else now
   */
  detect(isLast: boolean): Promise<boolean>
}

/**
 * Creates the detector for an uncompressed file.
 * @param digest of what was read
 * @param signal ends reading
 */
export function inPlaceChangeDetector(
  handle: FileHandle,
  digest: PrefixDigest,
  signal: AbortSignal,
): InPlaceChangeDetector {
  let seen: { readonly modifiedAt: bigint; readonly bytes: number } | null = null
  let isSuspected = false
  let nextMilliseconds = 0
  return {
    async detect(isLast) {
      const { mtimeNs: modifiedAt } = await handle.stat({ bigint: true })
      // What was appended explains a new time; a change beside it is found when the file is left, or opened again.
      if (seen !== null && seen.bytes === digest.bytes && seen.modifiedAt !== modifiedAt) isSuspected = true
      seen = { modifiedAt, bytes: digest.bytes }
      if (!isLast && (!isSuspected || performance.now() < nextMilliseconds)) return false
      const begun = performance.now()
      const isChanged = !(await beginsWith(handle, digest, signal))
      const ended = performance.now()
      nextMilliseconds = ended + (ended - begun) / maxShare
      isSuspected = false
      return isChanged && !signal.aborted
    },
  }
}

async function beginsWith(handle: FileHandle, expected: PrefixDigest, signal: AbortSignal): Promise<boolean> {
  const found = new PrefixDigest()
  for await (const chunk of readBytes(handle, 0, expected.bytes)) {
    found.update(chunk)
    if (signal.aborted) return false
  }
  return found.bytes === expected.bytes && found.fingerprint() === expected.fingerprint()
}
