import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { classifyServerError } from '../../src/database/driver-errors.ts'
import { DatabaseFull } from '../../src/database/errors.ts'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import type { Summary } from '../../src/feed/summary.ts'
import { CommitsLost } from '../../src/feed/position/expected-state.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import { retryDuringOutage } from '../../src/feed/retry.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { type Dump, dumpReadModel } from '../support/dump.ts'
import { manyDemoFacts } from '../support/feeds.ts'
import { feedOf, mark, midnight, opened, strategy, vaultA } from '../support/world.ts'

/** Fault of a transaction: an outage or a full disk before it, a lost commit response, or a deadlock, at its start or end. */
type Fault = 'well' | 'out' | 'full' | 'unheard' | 'deadlock' | 'late deadlock'

const deadlock = () => Object.assign(new Error('deadlock detected'), { code: '40P01', severity: 'ERROR' })

/**
 * Returns the database with faults in its next transactions.
 * @param afterConflict called once a transaction is rolled back that deadlocked at its end
 */
function faulty(
  database: Database,
  faults: readonly Fault[],
  afterConflict: () => Promise<unknown> = () => Promise.resolve(),
): Database {
  const next = faults.values()
  return {
    ...database,
    async transaction(work) {
      const fault = next.next().value ?? 'well'
      if (fault === 'out') throw new DatabaseUnavailable(new Error('it is out'))
      if (fault === 'full') throw new DatabaseFull('disk', 'a folder', new Error('it is full'))
      if (fault === 'deadlock') throw deadlock()
      const result = await database
        .transaction(async (transaction) => {
          const done = await work(transaction)
          if (fault === 'late deadlock') throw deadlock()
          return done
        })
        .catch(async (error: unknown) => {
          if (fault === 'late deadlock') await afterConflict()
          throw error
        })
      if (fault === 'unheard') throw new DatabaseUnavailable(new Error('its answer is lost'))
      return result
    },
  }
}

/** Two batches, since a batch ends with a chunk. */
const demo = manyDemoFacts(2)
const firstBatch = 1_000
const badLines = ['{"kind":"trade"}', '{"kind":']
const facts = [...demo.slice(0, 40), ...badLines, ...demo.slice(40)]

let database: TestDatabase
let folder: string
/** The result without faults. */
let whole: { dump: Dump; summary: Summary; rejects: string }

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'patience-'))
  whole = (await applied([])).outcome
})
beforeEach(async () => {
  database = await emptyDatabase()
})
afterAll(() => rm(folder, { recursive: true }))

let runs = 0

async function applied(
  faults: readonly Fault[],
  { source = feedOf(facts, firstBatch), ...options }: Partial<IngestOptions> = {},
  afterConflict: () => Promise<unknown> = () => Promise.resolve(),
) {
  database = await emptyDatabase()
  const rejects = rejectsFile(path.join(folder, `${runs++}.rejects.ndjson`))
  const outageObserver = { onWait: vi.fn<(reason: Error) => void>(), onResume: vi.fn<() => void>() }
  const summary = await ingest({
    database: faulty(database, faults, afterConflict),
    source,
    rejects,
    outageObserver,
    ...options,
  })
  const outcome = {
    dump: await dumpReadModel(database),
    summary,
    rejects: await readFile(rejects.file, 'utf8').catch(() => ''),
  }
  return { outcome, ...outageObserver }
}

describe('an ingest during an outage of the database', () => {
  test('waits, reports it once, and ends with the same result', async () => {
    const { outcome, onWait, onResume } = await applied(['out', 'out', 'well', 'well'])
    expect(outcome).toEqual(whole)
    expect(onWait).toHaveBeenCalledExactlyOnceWith(expect.any(DatabaseUnavailable))
    expect(onResume).toHaveBeenCalledOnce()
  })

  test('waits where conflicts with other writers are repeated', async () => {
    const { outcome, onWait } = await applied(Array<Fault>(7).fill('deadlock'))
    expect(outcome).toEqual(whole)
    expect(onWait.mock.calls.map(([reason]) => reason.message)).toEqual(['Other writers keep changing the same rows.'])
  })

  test('repeats its last check, after all facts, where that conflicts with other writers', async () => {
    const source = () => feedOf([strategy('one')])
    const { outcome: untroubled } = await applied([], { source: source() })
    const { outcome, onWait } = await applied(['well', 'deadlock', 'late deadlock'], { source: source() })
    expect(outcome).toEqual(untroubled)
    expect(onWait).not.toHaveBeenCalled()
  })

  test('counts facts as applied although the response was lost', async () => {
    const { outcome } = await applied(['unheard', 'out', 'well', 'unheard', 'unheard'])
    expect(outcome).toEqual(whole)
    expect(outcome.summary.skipped).toEqual({})
    expect(outcome.rejects.trimEnd().split('\n')).toHaveLength(badLines.length)
  })

  test('does not apply a line that was set aside before the response was lost, although it is valid after later lines', async () => {
    // The vault is opened after its newest mark; the last mark is in another batch.
    const marks = (seconds: readonly number[]) => seconds.map((second) => mark(vaultA, midnight + second, '1'))
    const source = () => feedOf([strategy('one'), ...marks([90]), opened(vaultA, 'one'), ...marks([30, 60])], 4)
    const { outcome: untroubled } = await applied([], { source: source() })
    expect(untroubled.summary).toEqual({
      applied: { strategy: 1, vault: 1, mark: 2 },
      skipped: {},
      rejected: { mark: 1 },
    })
    expect((await applied(['unheard'], { source: source() })).outcome).toEqual(untroubled)
    expect((await applied(['unheard', 'out', 'unheard'], { source: source() })).outcome).toEqual(untroubled)
  })

  test('does not apply a line that was set aside before a conflict, although another writer has made it valid', async () => {
    const marks = (seconds: readonly number[]) => seconds.map((second) => mark(vaultA, midnight + second, '1'))
    const other = () => ingest({ database, source: feedOf([strategy('one'), opened(vaultA, 'one')]) })
    const source = () => feedOf([...marks([90]), strategy('one'), opened(vaultA, 'one'), ...marks([30, 60])])
    const { outcome } = await applied([], { source: source() })
    const { outcome: conflicting } = await applied(['late deadlock'], { source: source() }, other)
    expect(conflicting.summary).toEqual({
      applied: { mark: 2 },
      skipped: { strategy: 1, vault: 1 },
      rejected: { mark: 1 },
    })
    expect([conflicting.dump, conflicting.rejects]).toEqual([outcome.dump, outcome.rejects])
  })

  test('counts facts as skipped that another writer applied before a conflict', async () => {
    const other = () => ingest({ database, source: feedOf([strategy('one')]) })
    const { outcome } = await applied(['late deadlock'], { source: feedOf([strategy('one')]) }, other)
    expect(outcome.summary).toEqual({ applied: {}, skipped: { strategy: 1 }, rejected: {} })
  })

  test('has the result of a run without faults, for any faults of its transactions', async () => {
    const fault = fc.constantFrom<Fault>('well', 'out', 'full', 'unheard')
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 4 }), async (faults) => {
        expect((await applied(faults)).outcome).toEqual(whole)
      }),
      { numRuns: 5 },
    )
  })

  test('reports the next outage again', async () => {
    const { onWait, onResume } = await applied(['full', 'well', 'out'])
    expect(onWait.mock.calls.map(([reason]) => reason.name)).toEqual(['DatabaseFull', 'DatabaseUnavailable'])
    expect(onResume).toHaveBeenCalledTimes(2)
  })

  test('ends at once when it is stopped, with the committed state', async () => {
    const stopping = new AbortController()
    const onWait = (): void => stopping.abort()
    const { outcome } = await applied(['well', 'out', 'out'], {
      signal: stopping.signal,
      outageObserver: { onWait, onResume: () => undefined },
    })
    const count = Object.values(outcome.summary.applied).reduce((sum, each) => sum + each, 0)
    expect(count).toBe(firstBatch - badLines.length)
  })

  test('ends with the error without an observer', async () => {
    const running = ingest({ database: faulty(database, ['out']), source: feedOf(demo) })
    await expect(running).rejects.toBeInstanceOf(DatabaseUnavailable)
  })
})

test('a wait that ends with another error is reported as over', async () => {
  const outageObserver = { onWait: vi.fn(), onResume: vi.fn() }
  const errors = [new DatabaseUnavailable(new Error('it is out')), new CommitsLost(null)]
  const work = (): Promise<never> => Promise.reject(errors.shift() ?? new Error('once too often'))
  await expect(retryDuringOutage(work, outageObserver, undefined)).rejects.toBeInstanceOf(CommitsLost)
  expect([outageObserver.onWait.mock.calls.length, outageObserver.onResume.mock.calls.length]).toEqual([1, 1])
})

test('a wait is reported again where its reason has become another one, and not where reasons take turns', async () => {
  const outageObserver = { onWait: vi.fn<(reason: Error) => void>(), onResume: vi.fn() }
  const toOutage = classifyServerError('host:5432')
  const answer = (code: string, message: string): Error | null =>
    toOutage(Object.assign(new Error(message), { code, severity: 'FATAL' }))
  const refused = toOutage(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
  const starting = answer('57P03', 'the database system is starting up')
  const password = answer('28P01', 'password authentication failed for user "feed"')
  const errors = [refused, starting, password, password]
  const work = (): Promise<string> => {
    const error = errors.shift() ?? null
    return error === null ? Promise.resolve('done') : Promise.reject(error)
  }
  expect(await retryDuringOutage(work, outageObserver, undefined)).toBe('done')
  expect(outageObserver.onWait.mock.calls.map(([reason]) => reason.message)).toEqual([
    'PostgreSQL at host:5432 does not answer now: connect ECONNREFUSED.',
    'PostgreSQL at host:5432 rejects the connection: password authentication failed for user "feed".',
  ])
  expect(outageObserver.onResume).toHaveBeenCalledOnce()
})

test('outageObserver is for outages alone', async () => {
  const outageObserver = { onWait: vi.fn(), onResume: vi.fn() }
  const work = vi.fn(() => Promise.reject(new TypeError('a fault')))
  await expect(retryDuringOutage(work, outageObserver, undefined)).rejects.toThrow('a fault')
  expect(work).toHaveBeenCalledOnce()
  expect(outageObserver.onWait).not.toHaveBeenCalled()
})
