import { writeFile } from 'node:fs/promises'
import { vi } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { emptyDatabase } from './database.ts'
import { fallingBack } from './falling-back.ts'
import { feedText } from './feeds.ts'

/** Waits until a check no longer fails. */
export const becomes = (check: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(check, { timeout: 30_000, interval: 20 })

/** Begins an ingest that follows a new file, into a database that can fall back. */
export async function followFallingBack(feed: string, facts: readonly FactInput[]) {
  const stopping = new AbortController()
  await writeFile(feed, feedText(facts))
  const real = await emptyDatabase()
  const { database, beforeNext } = fallingBack(real)
  const source = await followedSource(feed, null, stopping.signal)
  /** The lines of the positions at which the file was reopened. */
  const reopened: (number | undefined)[] = []
  let batches = 0
  const running = ingest({
    database,
    source,
    signal: stopping.signal,
    onProgress: () => void batches++,
    onReopen: (stored) => void reopened.push(stored?.line),
  })
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  return { real, name: source.name, beforeNext, reopened, batches: () => batches, stop }
}
