import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../../../src/database/database.ts'
import { DatabaseUnavailable } from '../../../../src/database/errors.ts'
import { openPostgreSql } from '../../../../src/database/postgresql/database.ts'
import { openReadServer } from '../../../../src/database/postgresql/replicas/read-server.ts'
import { Replica } from '../../../../src/database/postgresql/replicas/replica.ts'
import { ReplicaMonitor } from '../../../../src/database/postgresql/replicas/replica-monitor.ts'
import { openReplicated } from '../../../../src/database/postgresql/replicas/replicated-database.ts'
import { Rounds } from '../../../../src/database/postgresql/replicas/rounds.ts'
import { postgresUrl } from '../../../support/database.ts'
import { deferred } from '../../../support/deferred.ts'
import { freePort } from '../../../support/free-port.ts'

const url = postgresUrl ?? ''

describe.runIf(postgresUrl !== undefined)('a server that is lost', () => {
  test('fails the reads that wait for a connection to it at once', async () => {
    const server = openReadServer(new Replica(url, () => undefined), 2, () => undefined)
    const [begun, ended] = [deferred(), deferred()]
    const first = server.snapshot(async (reader) => {
      const text = 'select 1 as one'
      await reader.read({ name: 'one', text, dependsOn: 'catalogue' }, [])
      begun.resolve()
      await ended.promise
    })
    await begun.promise
    const waiting = server.snapshot(async (reader) => {
      await reader.read({ name: 'one', text: 'select 1 as one', dependsOn: 'catalogue' }, [])
    })
    const outcome = waiting.catch((error: unknown) => error)
    const destroyed = server.destroy()
    ended.resolve()
    await first
    expect(await Promise.race([outcome, destroyed.then(() => 'it still waits')])).toBeInstanceOf(DatabaseUnavailable)
    await Promise.all([destroyed, outcome])
  })
})

describe.runIf(postgresUrl !== undefined)('replicas of which none can be read from', () => {
  afterEach(() => vi.restoreAllMocks())

  test('are queried with pauses at a start, and no longer once they are closed', async () => {
    const after = vi.spyOn(ReplicaMonitor.prototype, 'after')
    const primary: Database = await openPostgreSql(url, 2)
    const choice = { urls: [`postgres://postgres@127.0.0.1:${await freePort()}/postgres`], staleSeconds: 60 }
    const database = await openReplicated(primary, url, choice, 2, () => undefined)
    expect(after.mock.calls.length).toBeGreaterThan(0)
    expect(after.mock.calls.length).toBeLessThan(500)
    await database.close()
    const next = vi.spyOn(Rounds.prototype, 'next')
    const read = database.query({ name: 'one', text: 'select 1 as one' }, [])
    await expect(read).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect(next.mock.calls.length).toBeLessThan(10)
  })
})
