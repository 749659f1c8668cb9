import { expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { apply, deposit, feedOf, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

const seconds = Array.from({ length: 650 }, (_, index) => midnight + (index + 1) * 3_600)
const marks = seconds.map((ts, index) => mark(vaultA, ts, String(1_000 + 2 * index)))
/** The first deposit below replaces the point of this mark, which is stored. */
const replaced = mark(vaultA, midnight + 10, '0')
const before: FactInput[] = [strategy('one'), opened(vaultA, 'one'), opened(vaultB, 'one'), replaced]
/** Each mark is followed by a deposit of its second. Every 500th line is a mark, whose point must not be written yet. */
const facts: FactInput[] = [
  deposit(vaultA, midnight + 10, '1000'),
  ...seconds.flatMap((ts, index) => [marks[index] as FactInput, deposit(vaultA, ts, '1', String(1_000 + 2 * index))]),
]

test('points that are written while the rest of a long batch is projected are those of short batches', async () => {
  const dumps: unknown[] = []
  for (const linesTogether of [100, facts.length]) {
    const database = await emptyDatabase()
    await apply(database, before)
    // The same marks again, in the batch whose points were written.
    const source = feedOf([...facts, ...marks.slice(0, 300)], linesTogether + 300)
    const { applied, skipped } = await ingest({ database, source })
    expect(applied).toEqual({ event: 651, mark: 650 })
    expect(skipped).toEqual({ mark: 300 })
    dumps.push(await dumpReadModel(database))
  }
  expect(dumps[1]).toEqual(dumps[0])
})

test('a mark that contradicts one that its batch has written is bad', async () => {
  const database = await emptyDatabase()
  await apply(database, before)
  const other = mark(vaultA, seconds[0] as number, '999')
  await expect(apply(database, [...facts, other])).rejects.toThrow(/line 1302.*mark of 0x[0-9a-fA-F]{40} at/s)
})
