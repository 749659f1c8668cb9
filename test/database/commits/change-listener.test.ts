import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChangeListener, CommitReports } from '../../../src/database/commits/change-listener.ts'
import type { Database, Value } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { createOnServer, emptyDatabase, postgresUrl, type TestDatabase } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'
import { addressOf, apply, mark, midnight, opened, strategy } from '../../support/world.ts'

/** A listener that records its calls as texts: the number of a version, with the changed tags. */
interface RecordingListener extends ChangeListener {
  readonly calls: string[]
  /** Times at which the polls that read the log to its end were sent. */
  readonly provenAt: number[]
}

const vaultA = addressOf(1)

let database: TestDatabase
let statements = 0
const stops: CommitReports['stop'][] = []

beforeEach(async () => {
  database = await emptyDatabase()
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function recordingListener(): RecordingListener {
  const calls: string[] = []
  const provenAt: number[] = []
  return {
    calls,
    provenAt,
    committed: ({ version, newestTs, tags }) =>
      void calls.push(
        [version.split('.')[0], newestTs === null ? null : newestTs - midnight, ...(tags ?? []).toSorted()].join(' '),
      ),
    listening: (isListening) => void calls.push(isListening ? 'listening' : 'lost'),
    upToDate: (sentAt) => void provenAt.push(sentAt),
  }
}

async function listen(over: Pick<Database, 'listen'> = database): Promise<RecordingListener> {
  const recorder = recordingListener()
  stops.push((await over.listen(recorder)).stop)
  await eventually(() => expect(recorder.provenAt).not.toEqual([]))
  return recorder
}

function eventually(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 30_000, interval: 10 })
}

const expectCalls = (recorder: RecordingListener, calls: readonly string[]): Promise<void> =>
  eventually(() => expect(recorder.calls).toEqual(calls))

function run(text: string, values: readonly Value[] = []): Promise<unknown> {
  return database.query({ name: `change_listener_test_${statements++}`, text }, values)
}

describe('a listener', () => {
  test('receives the newest commit first, and then each one in order, once', async () => {
    await apply(database, [strategy('calm')])
    await apply(database, [opened(vaultA, 'calm', midnight + 1)])
    const recorder = await listen()
    await expectCalls(recorder, ['listening', '2 1'])
    await apply(database, [mark(vaultA, midnight + 2, '1')])
    await apply(database, [strategy('bold', midnight + 3)])
    await expectCalls(recorder, ['listening', '2 1', `3 2 ${vaultA} all vaults catalogue`, '4 3 catalogue'])
  })

  test('receives the first commit of an empty database', async () => {
    const recorder = await listen()
    expect(recorder.calls).toEqual(['listening'])
    await apply(database, [strategy('calm')])
    await expectCalls(recorder, ['listening', '1 0 catalogue'])
  })

  test('reports when it has read the log to its end, also without commits', async () => {
    const before = performance.now()
    const recorder = await listen()
    await eventually(() => expect(recorder.provenAt.length).toBeGreaterThan(3))
    expect(recorder.provenAt[0]).toBeGreaterThanOrEqual(before)
    expect(recorder.provenAt).toEqual(recorder.provenAt.toSorted((a, b) => a - b))
  })

  test('receives the commits of a poll before it is reported as up to date', async () => {
    const recorder = await listen()
    const order: (number | 'commit')[] = []
    recorder.provenAt.push = (sentAt) => order.push(sentAt)
    recorder.calls.push = () => order.push('commit')
    const committedAt = performance.now()
    await apply(database, [strategy('calm')])
    await eventually(() => expect(order.at(-1)).toBeGreaterThan(committedAt + 200))
    const first = order.findIndex((each) => each !== 'commit' && each > committedAt + 200)
    expect(order.slice(0, first)).toContain('commit')
  })

  test.each([
    ['has lost commits', `delete from commit_log where seq > 1`, ['listening', '1 0']],
    ['has others in their place', `update commit_log set version = seq || '.7'`, ['listening', '3 2']],
    ['was pruned beyond what it knows', `delete from commit_log where seq <= 3`, ['listening']],
    ['has gaps', `insert into commit_log values (5, '5.7', 5, ${midnight + 4}, '{}')`, ['listening', '5 4']],
  ])('starts again where the log %s', async (_, change, begun) => {
    for (const each of [0, 1, 2]) await apply(database, [strategy('calm', midnight + each)])
    const recorder = await listen()
    await expectCalls(recorder, ['listening', '3 2'])
    await run(change)
    await expectCalls(recorder, ['listening', '3 2', 'lost', ...begun])
  })

  test('starts again where there are more commits than one read returns, and receives none twice', async () => {
    await apply(database, [strategy('calm')])
    const recorder = await listen()
    await run(
      `insert into commit_log select seq, seq || '.7', 5, ${midnight}, '{}' from generate_series(2, 1002) as seq`,
    )
    await expectCalls(recorder, ['listening', '1 0', 'lost', 'listening', '1002 0'])
    await run(
      `insert into commit_log select seq, seq || '.7', 5, ${midnight}, '{}' from generate_series(1003, 2002) as seq`,
    )
    await eventually(() => expect(recorder.calls).toHaveLength(1005))
    expect(recorder.calls.slice(-2)).toEqual(['2001 0', '2002 0'])
  })

  test('receives nothing after a stop', async () => {
    const recorder = await listen()
    for (const stop of stops.splice(0)) await stop()
    expect(recorder.calls).toEqual(['listening', 'lost'])
    await apply(database, [strategy('calm')])
    expect(recorder.calls).toHaveLength(2)
  })
})

describe.skipIf(postgresUrl === undefined)('on a PostgreSQL behind a proxy', () => {
  test('it reports lost notifications, and starts again when the server is back', async () => {
    const direct = await createOnServer(postgresUrl ?? '')
    const beside = await openPostgreSql(direct, 2)
    await migrate(beside)
    await apply(beside, [strategy('calm')])
    const proxy = await proxyTo(direct)
    const through = await openPostgreSql(proxy.url, 2)
    const recorder = await listen(through)
    await expectCalls(recorder, ['listening', '1 0'])

    await proxy.close()
    await expectCalls(recorder, ['listening', '1 0', 'lost'])
    await apply(beside, [strategy('calm', midnight + 1)])
    await proxy.open()
    await expectCalls(recorder, ['listening', '1 0', 'lost', 'listening', '2 1'])

    // Connections stay open without notifications.
    await apply(beside, [strategy('calm', midnight + 2)])
    await eventually(() => expect(recorder.calls.at(-1)).toBe('3 2 catalogue'))
    proxy.stall()
    await apply(beside, [strategy('calm', midnight + 3)])
    await eventually(() => expect(recorder.calls.slice(6)).toEqual(['lost', 'listening', '4 3']))
    for (const stop of stops.splice(0)) await stop()
    await through.close()
    await beside.close()
    await proxy.close()
  })
})
