import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { DatabaseFull } from '../../src/database/errors.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { emptyDatabase, runScript, type TestDatabase } from '../support/database.ts'
import { type Dump, dumpReadModel } from '../support/dump.ts'
import { manyDemoFacts } from '../support/feeds.ts'
import { feedOf } from '../support/world.ts'

const facts = manyDemoFacts(1)
let database: TestDatabase
let whole: Dump

beforeAll(async () => {
  database = await emptyDatabase()
  await ingest({ database, source: feedOf(facts) })
  whole = await dumpReadModel(database)
  await runScript(
    database,
    `create function disk_is_full() returns trigger language plpgsql as
      $$ begin raise 'could not extend file' using errcode = '53100'; end $$`,
  )
  return () => runScript(database, 'drop function disk_is_full cascade')
})
beforeEach(() => emptyDatabase())

test.each([
  ['vault', 'before insert on vault for each row'],
  ['equity_point', 'before insert on equity_point for each row'],
  ['ledger_row', 'before insert on ledger_row for each row'],
  ['feed', 'before insert or update on feed for each row'],
  ['commit_log', 'before insert on commit_log for each row'],
  ['the end of the transaction', 'after insert on equity_point deferrable initially deferred for each row'],
])('a feed waits while the disk of the database is full at %s, and goes on by itself', async (_where, when) => {
  const constraint = when.startsWith('after') ? 'constraint' : ''
  await runScript(database, `create ${constraint} trigger full_disk ${when} execute function disk_is_full()`)
  const table = / on (\w+)/.exec(when)?.[1] ?? ''
  const found: unknown[] = []
  const makeRoom = async (): Promise<void> => {
    // Reads continue, without rows of the batch.
    found.push(await database.prisma.vault.count(), await database.prisma.equityPoint.count())
    await runScript(database, `drop trigger full_disk on ${table}`)
  }
  const onWait = vi.fn<(reason: Error) => void>(() => void makeRoom())
  const onResume = vi.fn<() => void>()
  const { applied } = await ingest({ database, source: feedOf(facts), outageObserver: { onWait, onResume } })
  expect(onWait).toHaveBeenCalledExactlyOnceWith(expect.any(DatabaseFull))
  expect(onWait.mock.calls[0]?.[0].message).toMatch(/has too little disk left: make room there\.$/)
  expect(onResume).toHaveBeenCalledOnce()
  expect(found).toEqual([0, 0])
  expect(Object.values(applied).reduce((sum, count) => sum + count, 0)).toBe(facts.length)
  expect(await dumpReadModel(database)).toEqual(whole)
})
