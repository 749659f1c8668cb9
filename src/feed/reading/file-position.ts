import type { FileHandle } from 'node:fs/promises'
import type { BytePosition } from '../../database/write/feed.ts'
import { UnreadableFeed } from '../errors.ts'
import { lineDigest } from '../fact/digest.ts'
import { maxLineBytes } from '../fact/parse.ts'
import { type HandledPrefix, noHandledPrefix } from '../position/handled-lines.ts'
import { isBlank, type LineStart } from './lines.ts'
import { contentsOf, isGzipFile, readBytes } from './open-file.ts'
import { readOpenedVaults } from './opened-vaults.ts'
import { isLastLineOnly, PrefixDigest } from './prefix-digest.ts'

/** Start of reading a file, with the position that it continues from; without one it is the beginning. */
export interface FileStart {
  readonly start: LineStart
  readonly startsAfter?: BytePosition
  /** Digest of everything before the start. */
  readonly digest: PrefixDigest
  /** Whether the file contains everything that was applied, as it was then. */
  readonly containsApplied: boolean
  /** Absent where it was not compared with the position of the feed. */
  readonly handledPrefix?: HandledPrefix
}

/** Returns the start of a file that is read from its beginning. */
export function atBeginning(): FileStart {
  return { start: { line: 0, byte: 0 }, digest: new PrefixDigest(), containsApplied: false }
}

/** Returns the start of a file that is read again from its beginning, and contains a stored position of the feed. */
export async function atBeginningAgain(handle: FileHandle, stored: BytePosition): Promise<FileStart> {
  return {
    ...atBeginning(),
    containsApplied: true,
    handledPrefix: await handledPrefixUpTo(handle, stored.byte, stored),
  }
}

/**
 * Returns the prefix of a file that has been handled.
 * @param bytes end of the prefix in bytes of the decompressed feed
 * @param stored position of the feed in the database
 */
export async function handledPrefixUpTo(
  handle: FileHandle,
  bytes: number,
  stored: BytePosition | null,
): Promise<HandledPrefix> {
  return { bytes, storedBefore: stored, coversFile: false, opened: await readOpenedVaults(handle, bytes) }
}

/**
 * Tells whether a file contains everything before a position, as it was when it was applied.
 * @param signal ends reading; the result is false then
 */
export async function containsPosition(
  handle: FileHandle | null,
  position: BytePosition | null,
  signal?: AbortSignal,
): Promise<boolean> {
  return handle !== null && position !== null && (await readApplied(handle, position, signal)) !== null
}

/**
 * Tells whether a file contains everything before a position, and more after it.
 * @param signal ends reading; the result is false then
 */
export async function extendsBeyond(
  handle: FileHandle,
  position: BytePosition,
  signal?: AbortSignal,
): Promise<boolean> {
  return (await readApplied(handle, position, signal))?.hasMore === true
}

/**
 * Returns the digest of all contents of a file, uncompressed or gzipped.
 * @param signal ends reading; the result is null then
 * @returns null where they cannot be unpacked, or there are none yet: two empty files are no copies, since each may get lines
 */
export async function digestOfFile(handle: FileHandle, signal: AbortSignal): Promise<string | null> {
  const digest = new PrefixDigest()
  try {
    for await (const chunk of contentsOf(handle)) {
      digest.update(chunk)
      if (signal.aborted) return null
    }
  } catch (error) {
    if (!(error instanceof UnreadableFeed)) throw error
    return null
  }
  return digest.bytes === 0 ? null : digest.fingerprint()
}

/**
 * Returns the prefix of a file that has been handled: each of its lines is known or was set aside. It is empty where the file has changed
 * before the position, and where its digest is that of an older version, which proves its last line only.
 * @param stored position of the feed in the database
 */
export async function handledPrefixOf(handle: FileHandle, stored: BytePosition | null): Promise<HandledPrefix> {
  if (stored === null || isLastLineOnly(stored.fingerprint)) return noHandledPrefix(stored)
  const handled = await readApplied(handle, stored, undefined)
  if (handled === null) return noHandledPrefix(stored)
  const hasUnhandledLines = handled.hasMore && (await hasLinesAfter(handle, stored.byte))
  if (!hasUnhandledLines) return { ...noHandledPrefix(stored), bytes: stored.byte, coversFile: true }
  return handledPrefixUpTo(handle, stored.byte, stored)
}

/** Tells whether a file, uncompressed or gzipped, has anything but blank lines after an offset. */
async function hasLinesAfter(handle: FileHandle, byte: number): Promise<boolean> {
  const isGzip = await isGzipFile(handle)
  let at = isGzip ? 0 : byte
  try {
    for await (const chunk of isGzip ? contentsOf(handle) : readBytes(handle, byte)) {
      if (!isBlank(chunk.subarray(Math.max(0, byte - at)))) return true
      at += chunk.length
    }
  } catch (error) {
    if (!(error instanceof UnreadableFeed)) throw error
    // The run ends with this error where it reads what cannot be unpacked.
    return true
  }
  return false
}

/** Tells whether a file begins as the one that was applied to a position, so that it may be the same, changed in place. */
export async function beginsLike(handle: FileHandle, { byte, fingerprint }: BytePosition): Promise<boolean> {
  const digest = new PrefixDigest()
  try {
    for await (const chunk of contentsOf(handle)) {
      digest.update(chunk.subarray(0, byte - digest.bytes))
      if (digest.hasHead(byte)) return digest.mayBe(fingerprint, byte)
    }
  } catch (error) {
    if (!(error instanceof UnreadableFeed)) throw error
  }
  return false
}

/**
 * Returns the start of a file, uncompressed or gzipped: after the applied lines, unless a byte of these has changed. It
 * reads the file up to there, which takes a small part of the time that applying it has taken.
 * @param signal ends reading; the start is the beginning then
 */
export async function startOf(
  handle: FileHandle,
  stored: BytePosition | null,
  signal?: AbortSignal,
): Promise<FileStart> {
  const before = stored === null ? null : await readApplied(handle, stored, signal)
  const handledPrefix = noHandledPrefix(stored)
  if (stored === null || before === null) return { ...atBeginning(), handledPrefix }
  // A last line without newline may have been incomplete: it is read again, with the others. A gzipped file cannot grow.
  const isLineComplete = before.endsWithNewline || (!before.hasMore && (await isGzipFile(handle)))
  if (!isLineComplete) return atBeginningAgain(handle, stored)
  return { start: stored, startsAfter: stored, digest: before.digest, containsApplied: true, handledPrefix }
}

/** Where a file that contains the stored position is read from after commits were lost. */
export type ReopenFrom = 'stored position' | 'beginning'

/** The prefix of a file that was applied. */
interface AppliedPrefix {
  readonly digest: PrefixDigest
  readonly endsWithNewline: boolean
  /** Whether anything comes after it. */
  readonly hasMore: boolean
}

/** Reads a file up to a position; null where that is not what was applied. */
async function readApplied(
  handle: FileHandle,
  { byte, fingerprint }: BytePosition,
  signal: AbortSignal | undefined,
): Promise<AppliedPrefix | null> {
  const digest = new PrefixDigest()
  const isTooShort = !(await isGzipFile(handle)) && (await handle.stat()).size < byte
  if (isTooShort) return null
  const isOfOlderVersion = isLastLineOnly(fingerprint)
  let last: Buffer = Buffer.alloc(0)
  let hasMore = false
  try {
    for await (const chunk of contentsOf(handle)) {
      const piece = chunk.subarray(0, byte - digest.bytes)
      hasMore = piece.length < chunk.length
      if (digest.bytes === byte) break
      digest.update(piece)
      last = isOfOlderVersion ? Buffer.concat([last, piece]).subarray(-maxLineBytes - 2) : piece
      if (signal?.aborted === true || !digest.mayBe(fingerprint, byte)) return null
      if (hasMore) break
    }
  } catch (error) {
    if (!(error instanceof UnreadableFeed)) throw error
    // What cannot be unpacked comes after it.
    hasMore = true
  }
  const found = isOfOlderVersion ? lastLineDigest(last) : digest.fingerprint()
  return digest.bytes === byte && found === fingerprint
    ? { digest, endsWithNewline: last.at(-1) === 0x0a, hasMore }
    : null
}

function lastLineDigest(bytes: Buffer): string {
  const line = bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes
  return lineDigest(line.subarray(line.lastIndexOf(0x0a) + 1))
}
