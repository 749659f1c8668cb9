import { appendFile, link, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { inText, readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import type { PathWatcher } from '../../src/feed/reading/growing-file.ts'
import { emptyDatabase } from '../support/database.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedText } from '../support/feeds.ts'
import { eventually } from '../support/followed-run.ts'
import { feedOf, strategy } from '../support/world.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'several-followers-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('a file that is read again after late lines is continued where another gateway already reads the next file', async () => {
  const feed = path.join(folder, 'feed.ndjson')
  const [ofSecond, ofThird] = [[strategy('second'), strategy('more')], [strategy('third')]]
  const replaceBy = async (file: string, text: string): Promise<void> => {
    await link(feed, file)
    await writeFile(`${feed}.new`, text)
    await rename(`${feed}.new`, feed)
  }
  const real = await emptyDatabase()
  const { database, beforeNext } = withTransactionHook(real)
  const stored = () => readFeedPosition(real.prisma, feed)
  /** The other gateway has read the second file again, too, and the one that has replaced it. */
  const overtake = async (): Promise<void> => {
    await replaceBy(`${feed}-20260131`, feedText(ofThird))
    await ingest({ database: real, source: { ...feedOf(ofThird), name: feed } })
    const { byte = 0 } = inText(await stored()) ?? {}
    expect(byte).toBeLessThan(feedText(ofSecond).length)
  }
  const stopping = new AbortController()
  const nothing = (): void => undefined
  const onLateLines = vi.fn<() => void>()
  const watcher: PathWatcher = {
    onMissing: nothing,
    onFound: nothing,
    onOtherFile: nothing,
    onRotated: nothing,
    onLeft: nothing,
    onChangedInPlace: nothing,
    onGzipEnd: nothing,
    onLateLines,
  }
  await writeFile(feed, feedText([strategy('first')]))
  let isLate = false
  const following = ingest({
    database,
    source: await followedSource(feed, null, stopping.signal, watcher),
    signal: stopping.signal,
    onBatch() {
      // The batch of the late lines is the first after the notice of them.
      if (onLateLines.mock.calls.length === 0 || isLate) return
      isLate = true
      beforeNext(overtake)
    },
  })
  await eventually(async () => expect((await stored())?.line).toBe(1))
  await replaceBy(`${feed}-20260130`, feedText(ofSecond))
  await eventually(async () => expect((await stored())?.line).toBe(2))
  await appendFile(`${feed}-20260130`, feedText([strategy('late')]))
  await eventually(() => expect(isLate).toBe(true))
  await eventually(async () => expect(await real.prisma.strategy.count()).toBe(5))
  await appendFile(feed, feedText([strategy('last')]))
  const ended = vi.fn<() => void>()
  void following.then(ended, ended)
  await eventually(async () => {
    expect((await real.prisma.strategy.count()) === 6 || ended.mock.calls.length > 0).toBe(true)
  })
  stopping.abort()
  await following
  expect(await real.prisma.strategy.count()).toBe(6)
})
