import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Value } from '../../../src/database/database.ts'
import { readNewestFactAt } from '../../../src/database/read/model-metrics.ts'
import { appendCommit, commitNonce } from '../../../src/database/write/commit-log.ts'
import { deferred } from '../../support/deferred.ts'
import { emptyDatabase, postgresUrl, type TestDatabase } from '../../support/database.ts'
import { everything } from '../../support/everything.ts'
import { addressOf, apply, deposit, mark, midnight, opened, strategy } from '../../support/world.ts'

interface Logged {
  readonly seq: number
  readonly version: string
  readonly newestTs: number
  readonly tags: readonly string[]
  /** Age in seconds. */
  readonly seconds: number
}

let database: TestDatabase
let statements = 0

beforeEach(async () => {
  database = await emptyDatabase()
})

function select<Row>(text: string, values: readonly Value[] = []): Promise<Row[]> {
  return database.query<Row>({ name: `commit_log_test_${statements++}`, text }, values)
}

function log(): Promise<Logged[]> {
  return select(`select seq::float8 as seq, version, newest_ts::float8 as "newestTs", sources as tags,
    (extract(epoch from now()) - at)::float8 as seconds from commit_log order by seq`)
}

const vaultA = addressOf(1)

describe('a batch', () => {
  test('that changes something is one row, with its cache tags and the time of the newest fact', async () => {
    await apply(database, [strategy('calm', midnight + 50)])
    await apply(database, [opened(vaultA, 'calm', midnight), deposit(vaultA, midnight + 10, '100')])
    await apply(database, [mark(vaultA, midnight + 60, '101')])
    const rows = await log()
    expect(rows.map(({ seq, newestTs, tags }) => [seq, newestTs - midnight, [...tags].sort()])).toEqual([
      [1, 50, ['catalogue']],
      [2, 50, [vaultA, 'all vaults', 'catalogue']],
      [3, 60, [vaultA, 'all vaults']],
    ])
    for (const { seq, version, seconds } of rows) {
      expect(version).toMatch(new RegExp(`^${seq}\\.\\d{1,19}$`))
      expect(Math.abs(seconds)).toBeLessThan(60)
    }
    expect(new Set(rows.map(({ version }) => version.split('.')[1])).size).toBe(3)
    const [head] = await select<object>(
      'select seq::float8 as seq, version, newest_ts::float8 as "newestTs" from data_head',
    )
    const { seq, version, newestTs } = rows.at(-1) as Logged
    expect(head).toEqual({ seq, version, newestTs })
  })

  test('that changes nothing has no row: all facts are known, or bad', async () => {
    const facts = [strategy('calm'), opened(vaultA, 'calm')]
    await apply(database, facts)
    await apply(database, facts)
    const rejects = { file: '', write: () => Promise.resolve() }
    await apply(database, ['{}'], { rejects })
    expect(await log()).toHaveLength(1)
  })

  test('that fails leaves no row, and no gap in the numbers', async () => {
    await apply(database, [strategy('calm')])
    const failing = database.transaction((transaction) => {
      void appendCommit(transaction, { nonce: commitNonce(), newestTs: midnight, tags: ['catalogue'], ledgerRows: 0 })
      transaction.send({ name: 'division', text: 'select 1 / 0' }, [])
      return Promise.resolve()
    })
    await expect(failing).rejects.toThrow('division')
    await apply(database, [strategy('bold')])
    expect((await log()).map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('has the same newest fact as the read model, for any order of facts', async () => {
    await apply(database, everything)
    for (const batch of [[strategy('late', midnight * 2)], [strategy('early', 5)]]) {
      await apply(database, batch)
      expect((await log()).at(-1)?.newestTs).toBe(await readNewestFactAt(database, AbortSignal.timeout(60_000)))
    }
  })
})

test('eight writers at once leave no gap, and each later row has no older newest fact', async () => {
  const writers = 8
  const batches = 20
  await apply(database, [strategy('calm')])
  const write = async (writer: number): Promise<void> => {
    const vault = addressOf(writer + 1)
    await apply(database, [opened(vault, 'calm', midnight)])
    for (let each = 1; each < batches; each++) await apply(database, [mark(vault, midnight + each, String(each))])
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  const rows = await log()
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 1 + writers * batches }, (_, index) => index + 1))
  const newest = rows.map(({ newestTs }) => newestTs)
  expect(newest).toEqual(newest.toSorted((a, b) => a - b))
  expect(newest.at(-1)).toBe(midnight + batches - 1)
})

test.runIf(postgresUrl !== undefined)('the order of the numbers is that of the commits', async () => {
  const [begun, finished] = [deferred(), deferred()]
  const first = database.transaction(async (transaction) => {
    void appendCommit(transaction, { nonce: commitNonce(), newestTs: 1, tags: ['catalogue'], ledgerRows: 0 })
    await transaction.query({ name: 'commit_log_test_appended', text: 'select' }, [])
    begun.resolve()
    await finished.promise
  })
  await Promise.race([begun.promise, first])
  const second = database.transaction((transaction) => {
    void appendCommit(transaction, { nonce: commitNonce(), newestTs: 2, tags: ['universe'], ledgerRows: 0 })
    return Promise.resolve()
  })
  try {
    // The second waits for the first, whose row is not visible yet.
    expect(await Promise.race([second.then(() => 'committed'), wait(300, 'waits')])).toBe('waits')
    expect(await log()).toEqual([])
  } finally {
    finished.resolve()
    await Promise.allSettled([first, second])
  }
  await Promise.all([first, second])
  expect((await log()).map(({ tags }) => tags)).toEqual([['catalogue'], ['universe']])
})

test('rows are kept for seven days, and pruned by one commit in 512', async () => {
  const daySeconds = 86_400
  const old = [7 * daySeconds + 60, 7 * daySeconds - 60]
  for (const [index, seconds] of old.entries()) {
    await select(`insert into commit_log (seq, version, at, sources)
      values (${index + 1}, '${index + 1}.5', extract(epoch from now())::bigint - ${seconds}, '{}')`)
  }
  await select(`insert into data_head (seq, version) values (510, '510.5')`)
  await apply(database, [strategy('one')])
  expect((await log()).map(({ seq }) => seq)).toEqual([1, 2, 511])
  await apply(database, [strategy('two')])
  expect((await log()).map(({ seq }) => seq)).toEqual([2, 511, 512])
})
