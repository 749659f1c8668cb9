import type { Transaction } from '../database.ts'
import type { PrismaClient } from '../generated/client/client.ts'
import { insertSet } from './sets.ts'

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

const upsertPositions = insertSet(
  'feed',
  { name: 'text', line: 'bigint', byte: 'bigint', fingerprint: 'text' },
  `on conflict (name) do update set line = excluded.line, byte = excluded.byte, fingerprint = excluded.fingerprint`,
)

export function saveFeedPosition(transaction: Transaction, name: string, position: FeedPosition): void {
  const { line, byte, fingerprint } = position
  upsertPositions(transaction, [{ name, line, byte, fingerprint }])
}
