import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import { UnrepeatableFeed } from '../../src/feed/errors.ts'
import { ingest } from '../../src/feed/ingest.ts'
import type { PathWatcher } from '../../src/feed/reading/growing-file.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { empty, emptyDatabase, type TestDatabase } from '../support/database.ts'
import { feedText } from '../support/feeds.ts'
import { eventually } from '../support/followed-run.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedOf, strategy } from '../support/world.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'older-late-'))
})
afterAll(() => rm(folder, { recursive: true }))

const factsOf = (ids: readonly string[]) => ids.map((id) => strategy(id))

const nothing = (): void => undefined
const silent: PathWatcher = {
  ...{ onMissing: nothing, onFound: nothing, onOtherFile: nothing, onRotated: nothing, onLeft: nothing },
  ...{ onChangedInPlace: nothing, onLateLines: nothing, onGzipEnd: nothing },
}

/** Starts a run that follows a file of strategies with the given ids. */
async function followedFile(ids: readonly string[]) {
  const feed = path.join(await mkdtemp(path.join(folder, 'feed-')), 'feed.ndjson')
  const real: TestDatabase = await emptyDatabase()
  const { database, beforeNext } = withTransactionHook(real)
  await writeFile(feed, feedText(factsOf(ids)))
  const fileOf = (at: number): string => `${feed}.2026010${at}`
  let files = 0
  let stopping = new AbortController()
  let onRotated = (): void => undefined
  const watcher: PathWatcher = { ...silent, onRotated: () => onRotated() }
  let reopened = 0
  let running: Promise<unknown>
  const start = async (readUntil: number | null): Promise<void> => {
    stopping = new AbortController()
    const { signal } = stopping
    const source = await followedSource(feed, await readFeedPosition(real.prisma, feed), signal, watcher, readUntil)
    running = ingest({ database, source, signal, onReopen: () => void reopened++ })
    running.catch(() => undefined)
  }
  const stop = async (): Promise<unknown> => {
    stopping.abort()
    return running
  }
  const storedIds = async (): Promise<string[]> => (await real.prisma.strategy.findMany()).map(({ id }) => id)
  const has = (given: readonly string[], line: number): Promise<void> =>
    eventually(async () => {
      expect(await storedIds()).toEqual(expect.arrayContaining([...given]))
      expect((await readFeedPosition(real.prisma, feed))?.line).toBe(line)
    })
  const fallBackAtNext = (lists: readonly (readonly string[])[]): void =>
    beforeNext(async () => {
      await empty(real)
      for (const list of lists) await ingest({ database: real, source: { ...feedOf(factsOf(list)), name: feed } })
    })
  await start(null)
  await has(ids, ids.length)
  return {
    real,
    fileOf,
    has,
    storedIds,
    start,
    stop,
    /** Appends lines to the file at the path, and waits for them. */
    async append(given: readonly string[], line: number) {
      await appendFile(feed, feedText(factsOf(given)))
      await has(given, line)
    },
    /** Puts another file in place of the one at the path. */
    async rotate(given: readonly string[]) {
      await writeFile(`${feed}.new`, feedText(factsOf(given)))
      await rename(feed, fileOf(++files))
      await rename(`${feed}.new`, feed)
      await has(given, given.length)
    },
    /** Appends late lines to a file that was rotated. */
    appendLate: (at: number, given: readonly string[]) => appendFile(fileOf(at), feedText(factsOf(given))),
    /** Does the same, and waits until the newer file is read again. */
    async late(at: number, given: readonly string[], line: number) {
      await appendFile(fileOf(at), feedText(factsOf(given)))
      await has(given, line)
    },
    /** Resets it when a rotated file is found, and waits for all lines. */
    async fallBackAtRotated(lists: readonly (readonly string[])[], work: () => Promise<void>) {
      onRotated = () => fallBackAtNext(lists)
      await work()
      await eventually(() => expect(reopened).toBe(1))
      await eventually(async () => expect(await storedIds()).toContain('late'))
    },
    /** Does the same, and returns the error with which the run ends. */
    async endAfterFallBackTo(...lists: (readonly string[])[]): Promise<unknown> {
      fallBackAtNext(lists)
      await appendFile(feed, feedText(factsOf(['last'])))
      return running.catch((error: unknown) => error)
    },
    /** Resets the database to a state in which only these lines of the feed are applied, at its next transaction. */
    async fallBackTo(...lists: (readonly string[])[]) {
      const { length } = await storedIds()
      fallBackAtNext(lists)
      await appendFile(feed, feedText(factsOf(['last'])))
      await eventually(async () => expect(await storedIds()).toHaveLength(length + 1))
    },
  }
}

describe('late lines of a file that a failover has lost are applied again', () => {
  const first = ['f1']
  const second = ['s1', 's2', 's3']
  const third = ['t1', 't2', 't3']
  const fourth = ['u1', 'u2', 'u3', 'u4']

  test('where the position is in the next file, which another one has replaced', async () => {
    const run = await followedFile(first)
    await run.rotate(second)
    await run.late(1, ['late'], 3)
    await run.rotate(third)
    await run.fallBackTo(first, second)
    await run.stop()
  })

  test('where the position is in the next file, which two others have replaced', async () => {
    const run = await followedFile(first)
    await run.rotate(second)
    await run.late(1, ['late'], 3)
    // Its last lines are newer than the late one of the file before it.
    await run.append(['s4'], 4)
    await run.rotate(third)
    await run.rotate(fourth)
    await run.fallBackTo(first, second)
    await run.stop()
  })

  test('with all facts of the next file, which is older than the late lines', async () => {
    const run = await followedFile(first)
    await run.rotate(second)
    await run.late(1, ['late'], 3)
    await run.rotate(third)
    await run.rotate(fourth)
    await run.fallBackTo(first)
    await run.stop()
  })

  test('where lines came late in several files, and several times', async () => {
    const run = await followedFile(first)
    await run.rotate(second)
    await run.late(1, ['late', 'later', 'latest'], 3)
    await run.rotate(third)
    // Detours take a small part of the time, but there is one before the newer file is left.
    await run.appendLate(2, ['late of second'])
    await run.rotate(fourth)
    await run.has(['late of second'], 4)
    await run.fallBackTo(first, second)
    await run.stop()
  })

  test('where an earlier run has read them', async () => {
    const run = await followedFile(first)
    await run.rotate(second)
    await run.late(1, ['late'], 3)
    await run.stop()
    await run.start(Math.ceil(Date.now() / 1000) + 1)
    await run.append(['s4'], 4)
    await run.fallBackTo(first, second)
    await run.stop()
  })
})

test('late lines that a failover may have lost end the run where their file was removed', async () => {
  const run = await followedFile(['f1'])
  await run.rotate(['s1', 's2', 's3'])
  await run.late(1, ['late'], 3)
  await run.rotate(['t1'])
  await rm(run.fileOf(1))
  const error = await run.endAfterFallBackTo(['f1'], ['s1', 's2', 's3'])
  expect(error).toBeInstanceOf(UnrepeatableFeed)
  expect(String(error)).toMatch(/lines that came late in a file .* may be among them/)
})

test('lost lines of a file that was removed while it was open are applied again', async () => {
  const run = await followedFile(['f1', 'f2'])
  await run.rotate(['s1', 's2', 's3'])
  await run.rotate(['t1'])
  await rm(run.fileOf(2))
  await run.fallBackTo(['f1'])
  await run.stop()
})

test('late lines that a failover has lost are applied again while an older file is read after them', async () => {
  const run = await followedFile(['f1'])
  await run.rotate(['s1', 's2'])
  await run.rotate(['t1', 't2', 't3'])
  await run.fallBackAtRotated([['f1'], ['s1', 's2'], ['t1', 't2', 't3']], async () => {
    await run.appendLate(2, ['late'])
    // A copy without more would not be read again.
    const text = `${await readFile(run.fileOf(1), 'utf8')}${feedText(factsOf(['more']))}`
    await writeFile(`${run.fileOf(1)}.gz`, gzipSync(text))
    await rm(run.fileOf(1))
  })
  await run.stop()
})

test('late lines are noticed after a failover, though an older file was read between their file and the newest one', async () => {
  const run = await followedFile(['f1'])
  await run.rotate(['s1', 's2'])
  await run.rotate(['t1', 't2', 't3'])
  await run.fallBackTo(['f1'], ['s1'])
  await run.late(2, ['late'], 4)
  await run.stop()
})
