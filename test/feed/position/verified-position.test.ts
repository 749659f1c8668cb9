import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { lockFeedPosition, saveFeedPosition } from '../../../src/database/write/feed.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { CommitsLost, type ExpectedState } from '../../../src/feed/position/expected-state.ts'
import { lockVerifiedPosition } from '../../../src/feed/position/verified-position.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { empty, emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { feedOf, strategy } from '../../support/world.ts'

const position = (line: number, fingerprint = `f${line}`) => ({ line, byte: line * 100, fingerprint })
/** A position of a feed that was never read to its end. */
const stored = (line: number) => ({ ...position(line), readUntil: null })
const beginning: ExpectedState = { startsAfter: undefined, lastPosition: undefined, version: null }

let database: TestDatabase
beforeEach(async () => void (database = await emptyDatabase()))

const store = (line: number): Promise<void> =>
  database.transaction(async (transaction) => {
    saveFeedPosition(transaction, 'a feed', await lockFeedPosition(transaction, 'a feed'), position(line))
  })

const verify = (expected: ExpectedState, positions = [position(10), position(11)]) =>
  database.transaction((transaction) => lockVerifiedPosition(transaction, 'a feed', expected, positions))

/** Applies a fact of another feed, and returns the version of its commit. */
async function commit(id: string): Promise<string> {
  await ingest({ database, source: feedOf([strategy(id)]) })
  return (await database.prisma.dataHead.findFirstOrThrow()).version
}

describe('a run without a commit of its own', () => {
  test('that started at the beginning has lost nothing', async () => {
    await store(3)
    expect(await verify(beginning)).toEqual({ stored: stored(3), version: null })
  })

  test.each([
    ['its position', 9],
    ['that after a part of its batch, to which the response was lost', 10],
    ['that after its batch, to which the response was lost', 11],
  ])('is proved by %s', async (_which, line) => {
    await store(line)
    const expected = { ...beginning, startsAfter: position(9), lastPosition: position(9) }
    expect(await verify(expected)).toEqual({ stored: stored(line), version: null })
  })

  test.each([
    ['an earlier position', position(9), 8],
    ['the position of other contents', position(9, 'other'), 9],
  ])('has lost commits where the database has %s', async (_which, startsAfter, line) => {
    await store(line)
    await expect(verify({ ...beginning, startsAfter, lastPosition: startsAfter })).rejects.toThrow(CommitsLost)
  })
})

describe('a run with a commit', () => {
  test('is proved by it at any position', async () => {
    const version = await commit('one')
    await commit('two')
    await store(3)
    const expected = { startsAfter: position(8), lastPosition: position(9), version }
    expect(await verify(expected)).toEqual({ stored: stored(3), version })
    expect(await verify({ ...beginning, version })).toEqual({ stored: stored(3), version })
  })

  test('has lost the commit where another one has its number, also at the same position', async () => {
    const version = await commit('one')
    await empty(database)
    await commit('other')
    await store(9)
    const expected = { startsAfter: position(8), lastPosition: position(9), version }
    await expect(verify(expected)).rejects.toThrow(CommitsLost)
  })
})

test('a run that waits for lines relies on a newer commit before its own is pruned from the log', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let transactionCount = 0
  const counted: Database = {
    ...database,
    async transaction(work) {
      const result = await database.transaction(work)
      transactionCount++
      return result
    },
  }
  async function* facts(): AsyncGenerator<readonly FactInput[]> {
    yield [strategy('one')]
    await vi.waitFor(() => expect(transactionCount).toBe(1), { timeout: 30_000 })
    const version = await commit('two')
    await database.prisma.commitLog.updateMany({ data: { at: 0 } })
    vi.advanceTimersByTime(3_600_000)
    await vi.waitFor(() => expect(transactionCount).toBe(2), { timeout: 30_000 })
    await database.prisma.commitLog.deleteMany({ where: { NOT: { version } } })
    yield [strategy('three')]
  }
  const onReopen = vi.fn()
  const source = { ...feedOf([]), facts: facts(), reopen: () => Promise.resolve(feedOf([])) }
  await ingest({ database: counted, source, onReopen })
  vi.useRealTimers()
  expect(onReopen).not.toHaveBeenCalled()
  expect(await database.prisma.strategy.count()).toBe(3)
})
