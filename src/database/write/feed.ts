import type { Database, Statement, Transaction } from '../database.ts'
import type { PrismaClient } from '../prisma/generated/client/client.ts'
import { insertSet, selectList, updateSet } from './sets.ts'

/** How far a feed has been applied. */
export interface FeedPosition {
  /** Lines applied. */
  readonly line: number
  /** Bytes (unpacked) up to the end of the last of them. */
  readonly byte: number
  /** Digest of the last of them. */
  readonly fingerprint: string
}

export async function readFeedPosition(prisma: Pick<PrismaClient, 'feed'>, name: string): Promise<FeedPosition | null> {
  const stored = await prisma.feed.findUnique({ where: { name } })
  return stored && { line: Number(stored.line), byte: Number(stored.byte), fingerprint: stored.fingerprint }
}

const columns = { name: 'text', line: 'bigint', byte: 'bigint', fingerprint: 'text' }
const positionColumns = { line: 'bigint', byte: 'bigint', fingerprint: 'text' }

const lockPosition: Statement = {
  name: 'lock_feed',
  text: `select ${selectList(positionColumns)} from feed where name = $1 for update`,
  hasOnePlan: true,
}
const insertPositions = insertSet('feed', columns)
const updatePositions = updateSet('feed', columns, 'name')

/**
 * Reads how far a feed has been applied, and keeps other writers off its position to the end of the transaction.
 * @returns null where nothing of it has been applied; then nobody is kept off, and the second insert is a conflict
 */
export async function lockFeedPosition(transaction: Transaction, name: string): Promise<FeedPosition | null> {
  const [stored] = await transaction.query<FeedPosition>(lockPosition, [name])
  return stored ?? null
}

/**
 * Writes how far a feed has been applied.
 * @param stored the position in its place, as this transaction has locked it
 */
export function saveFeedPosition(
  transaction: Transaction,
  name: string,
  stored: FeedPosition | null,
  { line, byte, fingerprint }: FeedPosition,
): void {
  const save = stored === null ? insertPositions : updatePositions
  save(transaction, [{ name, line, byte, fingerprint }])
}

export function isSamePosition(one: FeedPosition | null, other: FeedPosition | null): boolean {
  if (one === null || other === null) return one === other
  return one.line === other.line && one.byte === other.byte && one.fingerprint === other.fingerprint
}

/** How far the source of a feed is known to hold no more than was applied. */
export interface FeedReach {
  /** In Unix seconds. */
  readonly readUntil: number
  /** The newest block that was read, of a source that reads a chain. */
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number } | null
}

const updateNewestFact: Statement = {
  name: 'update_newest_fact',
  text: `update feed set newest_fact_at = $2::bigint
    where name = $1 and (newest_fact_at is null or newest_fact_at < $2::bigint)`,
  hasOnePlan: true,
}

/** @param newestTs time of the newest fact that the feed has brought with a batch, in Unix seconds */
export function saveNewestFact(transaction: Transaction, name: string, newestTs: number): void {
  transaction.send(updateNewestFact, [name, newestTs])
}

const updateReach: Statement = {
  name: 'update_reach',
  text: `update feed set read_until = greatest(read_until, $3::bigint),
      block_number = $4::bigint, block_hash = $5::text, block_timestamp = $6::bigint
    where name = $1 and line = $2::bigint`,
}

/**
 * Writes how far a source was read, without a commit in the log, since nothing that is cached changes.
 * @param line that the feed's position is at: where the stored one is another, nothing is written
 */
export function saveFeedReach(
  database: Pick<Database, 'transaction'>,
  name: string,
  line: number,
  { readUntil, block }: FeedReach,
): Promise<void> {
  const { number = null, hash = null, timestamp = null } = block ?? {}
  return database.transaction((transaction) => {
    transaction.send(updateReach, [name, line, readUntil, number, hash, timestamp])
    return Promise.resolve()
  })
}
