import { writeFile } from 'node:fs/promises'
import { vi } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { emptyDatabase } from './database.ts'
import { feedText } from './feeds.ts'
import { withTransactionHook } from './transaction-hook.ts'

/** Repeats a check until it no longer fails, for up to 30 s. */
export const eventually = (check: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(check, { timeout: 30_000, interval: 20 })

/**
 * Starts an ingest that follows a new file, into a database with a transaction hook.
 * @param feed path of the file, which is written
 */
export async function followWithHook(feed: string, facts: readonly FactInput[]) {
  const stopping = new AbortController()
  await writeFile(feed, feedText(facts))
  const real = await emptyDatabase()
  const { database, beforeNext } = withTransactionHook(real)
  const source = await followedSource(feed, null, stopping.signal)
  /** Line numbers of the feed positions at which the file was reopened. */
  const reopened: (number | undefined)[] = []
  let batches = 0
  const running = ingest({
    database,
    source,
    signal: stopping.signal,
    onBatch: () => void batches++,
    onReopen: (stored) => void reopened.push(stored?.line),
  })
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  return { real, name: source.name, beforeNext, reopened, batches: () => batches, stop }
}
