import type { Database, Statement, Transaction } from '../database.ts'
import type { PrismaClient } from '../prisma/generated/client/client.ts'
import { chainFingerprint, isChainPosition } from '../read/expressions.ts'
import { insertSet, selectList, updateSet } from './sets.ts'

/** Position in a feed up to which its lines are handled: applied, skipped or set aside. */
export type FeedPosition = BytePosition | BlockPosition

/** Position in a feed of text. */
export interface BytePosition {
  /** Number of the last handled line, from 1. */
  readonly line: number
  /** Offset of the end of that line, in bytes of the decompressed feed. */
  readonly byte: number
  /** Digests of all bytes up to there, to distinguish a feed that grew from one that was replaced or changed. */
  readonly fingerprint: string
}

/** Position in a chain, each fact of which counts as a line. */
export interface BlockPosition {
  readonly line: number
  /** Number of the block from which the chain is read on. */
  readonly block: number
  /** Begins with the hash of the block. */
  readonly fingerprint: string
}

/** The position of a feed as its row has it, which is locked. */
export type LockedPosition = FeedPosition & {
  /** Time at which the feed was last read to its end, in Unix seconds; null where it was never followed, 0 where it has no such time. */
  readonly readUntil: number | null
}

/** Returns how far a position is in its source: bytes of a feed of text, or blocks of a chain. */
export function offsetOf(position: FeedPosition): number {
  return 'block' in position ? position.block : position.byte
}

/** Returns a stored position of a feed of text; null for one in a chain, which is in no file. */
export function inText<Position extends FeedPosition>(
  position: Position | null,
): Extract<Position, BytePosition> | null {
  return position !== null && 'byte' in position ? (position as Extract<Position, BytePosition>) : null
}

/** Returns a stored position of a chain; null for one in a feed of text. */
export function inChain(position: FeedPosition | null): BlockPosition | null {
  return position !== null && 'block' in position ? position : null
}

/** Returns a position with the offset as it is stored: its column is `byte`, also for the number of a block. */
function positionOf({ line, byte, fingerprint }: BytePosition): FeedPosition {
  return chainFingerprint.test(fingerprint) ? { line, block: byte, fingerprint } : { line, byte, fingerprint }
}

/**
 * Reads the position of a feed.
 * @returns null where nothing of it has been applied
 */
export async function readFeedPosition(prisma: Pick<PrismaClient, 'feed'>, name: string): Promise<FeedPosition | null> {
  const stored = await prisma.feed.findUnique({ where: { name } })
  return stored && positionOf({ line: Number(stored.line), byte: Number(stored.byte), fingerprint: stored.fingerprint })
}

/** Difference of clocks that is tolerated. */
const skewSeconds = 60

/**
 * Reads the time at which the file of a feed was last read to its end, in Unix seconds.
 * @param nowSeconds clock in Unix seconds: a time far ahead of it was recorded by a wrong clock, or is compared with one;
 *   clocks of several machines, or before and after a correction, differ by less
 * @returns null where the feed was never followed; 0 where it never was, or the time is unknown: nothing counts as read
 */
export async function readUntilOfFeed(
  prisma: Pick<PrismaClient, 'feed'>,
  name: string,
  nowSeconds: () => number,
): Promise<number | null> {
  const { readUntil = null } = (await prisma.feed.findUnique({ where: { name }, select: { readUntil: true } })) ?? {}
  return readUntil === null ? null : trustedReadUntil(Number(readUntil), nowSeconds())
}

/** Returns a recorded end of a feed as far as a clock confirms it, both in Unix seconds; 0 where nothing counts as read. */
export function trustedReadUntil(readUntil: number, nowSeconds: number): number {
  if (readUntil <= nowSeconds) return readUntil
  return readUntil <= nowSeconds + skewSeconds ? nowSeconds - skewSeconds : 0
}

const positionColumns = { line: 'bigint', byte: 'bigint', fingerprint: 'text' } as const
const columns = { name: 'text', ...positionColumns } as const

const lockPosition: Statement = {
  name: 'lock_feed',
  text: `select ${selectList(positionColumns)}, read_until::float8 as "readUntil" from feed where name = $1 for update`,
  prepare: 'once',
}
const insertPositions = insertSet('feed', { ...columns, read_until: 'bigint' })
const updatePositions = updateSet('feed', columns, 'name')

interface LockedRow extends BytePosition {
  readonly readUntil: number | null
}

/**
 * Reads the position of a feed and locks it until the transaction ends.
 * @returns null where nothing of it has been applied; nothing is locked then, and a concurrent first insert is a
 *   conflict
 */
export async function lockFeedPosition(transaction: Transaction, name: string): Promise<LockedPosition | null> {
  const [stored] = await transaction.query<LockedRow>(lockPosition, [name])
  return stored === undefined ? null : { ...positionOf(stored), readUntil: stored.readUntil }
}

/**
 * Writes the position of a feed.
 * @param stored the position as this transaction has locked it
 * @param isFollowed whether the feed is read as it grows: a new row has 0 then, so that none of its files counts as read
 */
export function saveFeedPosition(
  transaction: Transaction,
  name: string,
  stored: FeedPosition | null,
  position: FeedPosition,
  isFollowed = false,
): void {
  const { line, fingerprint } = position
  const row = { name, line, byte: offsetOf(position), fingerprint }
  if (stored === null) insertPositions(transaction, [{ ...row, read_until: isFollowed ? 0 : null }])
  else updatePositions(transaction, [row])
}

/** Returns whether two positions are equal. */
export function isSamePosition(one: FeedPosition | null, other: FeedPosition | null): boolean {
  if (one === null || other === null) return one === other
  return one.line === other.line && offsetOf(one) === offsetOf(other) && one.fingerprint === other.fingerprint
}

/** How far the source of a feed has been read without finding further facts. */
export interface FeedReadUntil {
  /** Unix seconds: by the clock, or the time of the newest block. */
  readonly readUntil: number
  /** The newest block that was read, for a source that reads a chain. */
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number } | null
}

const updateNewestFact: Statement = {
  name: 'update_newest_fact',
  text: `update feed set newest_fact_at = $2::bigint
    where name = $1 and (newest_fact_at is null or newest_fact_at < $2::bigint)`,
  prepare: 'once',
}

/**
 * Writes the time of the newest fact of a feed.
 * @param newestTs in Unix seconds
 */
export function saveNewestFact(transaction: Transaction, name: string, newestTs: number): void {
  transaction.send(updateNewestFact, [name, newestTs])
}

const newestFact: Statement = {
  name: 'newest_fact_by_clock',
  text: `select max(newest_fact_at)::float8 as newest from feed where not ${isChainPosition}`,
}

/**
 * Reads the time of the newest fact of all feeds whose facts are compared with a clock: not those that read a chain, because a
 * local node sets its blocks to any time.
 * @returns Unix seconds; null where there is none
 */
export async function readNewestFact(transaction: Transaction): Promise<number | null> {
  const [found] = await transaction.query<{ readonly newest: number | null }>(newestFact, [])
  return found?.newest ?? null
}

/** Keeps the newest block time. Overwrites a time by the clock, also by an earlier one: the clock may have been ahead. */
const updateReadUntil: Statement = {
  name: 'update_read_until',
  text: `update feed set read_until = case when $4::bigint is null then $3::bigint else greatest(read_until, $3::bigint) end,
      block_number = $4::bigint, block_hash = $5::text, block_timestamp = $6::bigint
    where name = $1 and line = $2::bigint`,
}

/**
 * Writes how far the source of a feed has been read. Appends no commit to the log, because no cached response changes.
 * @param line line of the feed's position; without effect where the stored line differs
 */
export function saveReadUntil(
  database: Pick<Database, 'transaction'>,
  name: string,
  line: number,
  { readUntil, block }: FeedReadUntil,
): Promise<void> {
  const { number = null, hash = null, timestamp = null } = block ?? {}
  return database.transaction((transaction) => {
    transaction.send(updateReadUntil, [name, line, readUntil, number, hash, timestamp])
    return Promise.resolve()
  })
}
