import type { FileHandle } from 'node:fs/promises'
import { type FeedPosition, isSamePosition } from '../../database/write/feed.ts'
import { UnreadableFeed } from '../errors.ts'
import { lineDigest } from '../fact/digest.ts'
import { maxLineBytes } from '../fact/parse.ts'
import { type HandledPart, noHandledPart } from '../position/handled-lines.ts'
import { isBlank, type LineStart } from './lines.ts'
import { contentsOf, isGzipFile, readBytes } from './open-file.ts'
import { readOpenedVaults } from './opened-vaults.ts'
import { isLastLineOnly, PrefixDigest } from './prefix-digest.ts'

/** Start of reading a file, with the position that it continues from; without one it is the beginning. */
export interface FileStart {
  readonly start: LineStart
  readonly startsAfter?: FeedPosition
  /** Digest of everything before the start. */
  readonly prefix: PrefixDigest
  /** Whether the file holds everything that was applied, as it was then. */
  readonly holdsApplied: boolean
  /** Absent where it was not compared with the position of the feed. */
  readonly handledPart?: HandledPart
}

/** Returns the start of a file that is read from its beginning. */
export function atBeginning(): FileStart {
  return { start: { line: 0, byte: 0 }, prefix: new PrefixDigest(), holdsApplied: false }
}

/** Returns the start of a file that is read again from its beginning, and holds a stored position of the feed. */
export async function atBeginningAgain(handle: FileHandle, stored: FeedPosition): Promise<FileStart> {
  return { ...atBeginning(), holdsApplied: true, handledPart: await handledPartUpTo(handle, stored.byte, stored) }
}

/**
 * Returns the part of a file that has been handled.
 * @param bytes end of the part in bytes of the decompressed feed
 * @param stored position of the feed in the database
 */
export async function handledPartUpTo(
  handle: FileHandle,
  bytes: number,
  stored: FeedPosition | null,
): Promise<HandledPart> {
  return { bytes, storedBefore: stored, isWhole: false, opened: await readOpenedVaults(handle, bytes) }
}

/**
 * Tells whether a file holds everything before a position, as it was when it was applied.
 * @param signal ends reading; the result is false then
 */
export async function containsPosition(
  handle: FileHandle | null,
  position: FeedPosition | null,
  signal?: AbortSignal,
): Promise<boolean> {
  return handle !== null && position !== null && (await readApplied(handle, position, signal)) !== null
}

/**
 * Tells whether a file holds everything before a position, and more after it.
 * @param signal ends reading; the result is false then
 */
export async function extendsBeyond(
  handle: FileHandle,
  position: FeedPosition,
  signal?: AbortSignal,
): Promise<boolean> {
  return (await readApplied(handle, position, signal))?.hasMore === true
}

/**
 * Tells whether a file holds everything before a position, and nothing after it.
 * @param signal ends reading; the result is false then
 */
export async function endsAt(handle: FileHandle, position: FeedPosition, signal?: AbortSignal): Promise<boolean> {
  return (await readApplied(handle, position, signal))?.hasMore === false
}

/**
 * Returns the part of a file that has been handled: each of its lines is known or was set aside. It is empty where the file has changed
 * before the position, and where its digest is that of an older version, which proves its last line only.
 * @param stored position of the feed in the database
 */
export async function handledPartOf(handle: FileHandle, stored: FeedPosition | null): Promise<HandledPart> {
  if (stored === null || isLastLineOnly(stored.fingerprint)) return noHandledPart(stored)
  const handled = await readApplied(handle, stored, undefined)
  if (handled === null) return noHandledPart(stored)
  const hasUnhandledLines = handled.hasMore && (await hasLinesAfter(handle, stored.byte))
  if (!hasUnhandledLines) return { ...noHandledPart(stored), bytes: stored.byte, isWhole: true }
  return handledPartUpTo(handle, stored.byte, stored)
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
export async function beginsLike(handle: FileHandle, { byte, fingerprint }: FeedPosition): Promise<boolean> {
  const prefix = new PrefixDigest()
  try {
    for await (const chunk of contentsOf(handle)) {
      prefix.update(chunk.subarray(0, byte - prefix.bytes))
      if (prefix.hasHead(byte)) return prefix.mayBe(fingerprint, byte)
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
  stored: FeedPosition | null,
  signal?: AbortSignal,
): Promise<FileStart> {
  const before = stored === null ? null : await readApplied(handle, stored, signal)
  const handledPart = noHandledPart(stored)
  if (stored === null || before === null) return { ...atBeginning(), handledPart }
  // A last line without newline may have been incomplete: it is read again, with the others. A gzipped file cannot grow.
  const isWhole = before.endsWithNewline || (!before.hasMore && (await isGzipFile(handle)))
  if (!isWhole) return atBeginningAgain(handle, stored)
  return { start: stored, startsAfter: stored, prefix: before.prefix, holdsApplied: true, handledPart }
}

/** Where a file that holds the stored position is read from after commits were lost. */
export type ReopenFrom = 'stored position' | 'beginning'

interface AppliedPart {
  readonly prefix: PrefixDigest
  readonly endsWithNewline: boolean
  /** Whether anything comes after it. */
  readonly hasMore: boolean
}

/** Reads a file up to a position; null where that is not what was applied. */
async function readApplied(
  handle: FileHandle,
  { byte, fingerprint }: FeedPosition,
  signal: AbortSignal | undefined,
): Promise<AppliedPart | null> {
  const prefix = new PrefixDigest()
  const isTooShort = !(await isGzipFile(handle)) && (await handle.stat()).size < byte
  if (isTooShort) return null
  const isOfOlderVersion = isLastLineOnly(fingerprint)
  let last: Buffer = Buffer.alloc(0)
  let hasMore = false
  try {
    for await (const chunk of contentsOf(handle)) {
      const part = chunk.subarray(0, byte - prefix.bytes)
      hasMore = part.length < chunk.length
      if (prefix.bytes === byte) break
      prefix.update(part)
      last = isOfOlderVersion ? Buffer.concat([last, part]).subarray(-maxLineBytes - 2) : part
      if (signal?.aborted === true || !prefix.mayBe(fingerprint, byte)) return null
      if (hasMore) break
    }
  } catch (error) {
    if (!(error instanceof UnreadableFeed)) throw error
    // What cannot be unpacked comes after it.
    hasMore = true
  }
  const found = isOfOlderVersion ? lastLineDigest(last) : prefix.fingerprint()
  return prefix.bytes === byte && found === fingerprint
    ? { prefix, endsWithNewline: last.at(-1) === 0x0a, hasMore }
    : null
}

function lastLineDigest(bytes: Buffer): string {
  const line = bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes
  return lineDigest(line.subarray(line.lastIndexOf(0x0a) + 1))
}

/** Tells whether a position belongs to a file, or to its beginning, which is the end of the file before. */
export async function isFrom(
  file: { readonly handle: FileHandle; readonly beganAfter: FeedPosition | null | undefined } | null,
  position: FeedPosition | null,
): Promise<boolean> {
  if (file === null) return false
  const { handle, beganAfter } = file
  return (beganAfter !== undefined && isSamePosition(beganAfter, position)) || containsPosition(handle, position)
}
