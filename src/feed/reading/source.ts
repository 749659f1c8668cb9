import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { type BytePosition, type FeedPosition, inText, type LockedPosition } from '../../database/write/feed.ts'
import type { ReadAppliedVaults } from '../../domain/identity/applied-vault.ts'
import { UnreadableFeed } from '../errors.ts'
import type { FactInput } from '../fact/fact.ts'
import type { HandledPrefix } from '../position/handled-lines.ts'
import { listsUntilPause } from './lists-until-pause.ts'
import { atBeginning, type FileStart, handledPrefixOf, type ReopenFrom, startOf } from './file-position.ts'
import { type LastLineRules, type Line, type LineStart, numberFacts, readLines } from './lines.ts'
import { isGzipFile, openFeed, readBytes } from './open-file.ts'
import type { PrefixDigest } from './prefix-digest.ts'
import type { SourceEnd } from '../read-until.ts'
import { chunkBytes, countBytes, decompress, noBytesYet, type ByteCounts } from './decompress.ts'

/** A source of facts: a feed as bytes, or facts of a producer in this process. */
export type Source = ByteSource | FactSource

/** Members that the other kind of source has. */
type Without<Members> = { readonly [Name in keyof Members]?: undefined }

/** A feed as a stream of bytes. */
export interface ByteSource extends SourceBase, FileMembers, LastLineRules, Without<ProducerMembers> {
  readonly chunks: AsyncIterable<Buffer>
  /** Position of the first line. */
  readonly start: LineStart
  readonly byteCounts: ByteCounts
  /** Digest of everything before the next chunk. */
  readonly digest: PrefixDigest
}

/** Facts of a producer in this process, which need no serialisation. Each counts as a line. */
export interface FactSource extends SourceBase, ProducerMembers, Without<FileMembers> {
  readonly facts: AsyncIterable<readonly FactInput[]>
  /** Number of lines before the first fact. */
  readonly start: { readonly line: number; readonly byte?: undefined }
}

interface SourceBase {
  /** Key of its stored position, and its name in messages. */
  readonly name: string
  /** The stored position that `start` continues from, up to which the feed must be applied; absent at its beginning. */
  readonly startsAfter?: FeedPosition
  /**
   * Reopens the source for a database that lacks facts that were applied; absent where a source can be read only once.
   * A followed file reopens the file before it where the position belongs to that.
   * @param stored position of the feed in the database, with the time up to which that has the feed
   * @param readFrom where a file is read from that contains the position
   * @throws {UnrepeatableFeed} when the position belongs to a file that is no longer open
   */
  reopen?(stored: LockedPosition | null, readFrom: ReopenFrom): Promise<Source>
  /** Registers a listener for the end of a growing source; reading continues when the listener is done. */
  onEnd?(listener: (end: SourceEnd) => Promise<void>): void
  /** Closes its files, unless `next` or `reopen` has passed them on. */
  close?(): Promise<void>
}

/** Members of a source that reads a file; standard input has none. */
interface FileMembers {
  /** Whether it contains everything that was applied, as it was then. */
  readonly containsApplied?: boolean
  /** The prefix that earlier runs have handled; absent where it was not compared with the position of the feed. */
  readonly handledPrefix?: HandledPrefix
  /** Returns the name for messages about its lines: that of a followed file, which may have been renamed. */
  readName?(): Promise<string>
  /** Whether it is the file that was read before, which was changed in place. */
  readonly isReadAgain?: boolean
  /**
   * Opens the file that replaced a followed one.
   * @param stored position of the feed
   * @returns null where the source ended without a replacement
   */
  next?(stored: FeedPosition | null): Promise<Source | null>
}

/** Members of a source that reads a chain, of which others have only the first. */
interface ProducerMembers {
  /** Returns the position to store after a line. */
  positionAfter(line: Pick<Line, 'number'>): FeedPosition
  /**
   * Reopens the source without a vault of which a fact is bad, so that the others are read on; absent where a bad fact
   * ends the feed.
   * @param reason the key and the reason of the bad fact
   */
  readonly reopenWithout?: (vault: string, reason: string) => Promise<Source>
  /**
   * Whether the times of its facts come from another clock: block times are set by the chain's consensus, and by a
   * local node to any value.
   */
  readonly hasOwnTime?: boolean
  /**
   * Gives the source a function that reads how far the facts of vaults are applied in the database, called before it is read: facts that are
   * applied need not be made again.
   */
  useAppliedVaults?(read: ReadAppliedVaults): void
}

/** Reads a source as lines: splits its bytes, or numbers its facts. */
export function readSource(source: Source): AsyncIterable<Line[]> {
  return 'facts' in source
    ? numberFacts(source.facts, source.start)
    : readLines(source.chunks, source.start, source.digest, source)
}

/**
 * Opens a file, uncompressed or gzipped, that is read from its beginning to its end.
 * @param stored position of the feed in the database: what earlier runs have set aside before it remains so
 * @throws {UnreadableFeed} when it cannot be opened
 */
export async function fileSource(file: string, stored: FeedPosition | null = null): Promise<ByteSource> {
  const name = path.resolve(file)
  const handle = await openFeed(name)
  return wholeFile(
    name,
    handle,
    { ...atBeginning(), handledPrefix: await handledPrefixOf(handle, inText(stored)) },
    null,
  )
}

/**
 * Returns the start of an open file for a database that lacks facts that were applied: the stored position in an uncompressed file,
 * unless the prefix before it has changed or it is to be read from its beginning.
 */
async function reopenedStart(
  handle: FileHandle,
  stored: BytePosition | null,
  readFrom: ReopenFrom,
): Promise<FileStart> {
  const isGzip = await isGzipFile(handle)
  const from = isGzip ? { ...atBeginning(), containsApplied: stored !== null } : await startOf(handle, stored)
  if (from.start.byte > 0 && readFrom === 'stored position') return from
  return {
    ...atBeginning(),
    containsApplied: from.containsApplied,
    handledPrefix: await handledPrefixOf(handle, stored),
  }
}

/** Returns a source for an open file, which it closes. */
async function wholeFile(
  name: string,
  handle: FileHandle,
  from: FileStart,
  byteCounts: ByteCounts | null,
): Promise<ByteSource> {
  const { byte } = from.start
  const read = Object.assign(byteCounts ?? noBytesYet((await handle.stat()).size), {
    bytesRead: byte,
    bytesDecompressed: byte,
  })
  const bytes = readWhole(handle, name, byte)
  const chunks = byte > 0 ? countBytes(bytes, read) : decompress(bytes, name, read)
  return {
    name,
    ...from,
    chunks,
    byteCounts: read,
    // Another file may stand at the path by now.
    reopen: async (position, readFrom) =>
      wholeFile(name, handle, await reopenedStart(handle, inText(position), readFrom), read),
    close: () => handle.close(),
  }
}

/**
 * Reads an open file to its end.
 * @throws {UnreadableFeed} when it was truncated meanwhile, and so has ended before its time
 */
async function* readWhole(handle: FileHandle, name: string, from: number): AsyncGenerator<Buffer> {
  let at = from
  for await (const chunk of readBytes(handle, from)) {
    at += chunk.length
    yield chunk
  }
  if ((await handle.stat()).size >= at) return
  throw new UnreadableFeed(name, 'was truncated while it was read: what was cut off is not applied. Apply its copy')
}

/**
 * Returns a source that reads standard input, uncompressed or gzipped, to its end.
 * @param signal ends it while it waits for input
 */
export function inputSource(input: Readable, signal?: AbortSignal): ByteSource {
  const name = 'standard input'
  const byteCounts = noBytesYet(null)
  const chunks = signal === undefined ? input : abortable(signal, input)
  // A read that waits for more would keep the process alive.
  const close = (): Promise<void> => Promise.resolve(void input.destroy())
  return { name, ...atBeginning(), chunks: decompress(chunks, name, byteCounts, signal), byteCounts, close }
}

/** Returns a source whose chunks are joined to those of a file, as long as they come without a pause. */
export function inFullChunks(source: ByteSource): ByteSource {
  return { ...source, chunks: joined(source.chunks) }
}

async function* joined(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const some of listsUntilPause(chunks, ({ length }) => length, chunkBytes)) yield Buffer.concat(some)
}

async function* abortable(signal: AbortSignal, input: Readable): AsyncGenerator<Buffer> {
  try {
    yield* addAbortSignal(signal, input) as AsyncIterable<Buffer>
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Returns the clock that new facts of a source are compared with; undefined where they are compared with none. */
export function clockOf(source: Source, nowSeconds: (() => number) | undefined): (() => number) | undefined {
  return source.hasOwnTime === true ? undefined : nowSeconds
}
