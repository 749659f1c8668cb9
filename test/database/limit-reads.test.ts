import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import { limitReads } from '../../src/database/read-path.ts'
import { pooledReader } from '../../src/database/postgresql/reads/pooled-reads.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { type Proxy, proxyTo } from '../support/proxy.ts'

const one = { name: 'one', text: 'select 1 as one' }

describe.runIf(postgresUrl !== undefined)('reads without a signal', () => {
  let proxy: Proxy
  let pool: pg.Pool

  beforeEach(async () => {
    proxy = await proxyTo(await createOnServer(postgresUrl ?? ''))
    pool = new pg.Pool({ connectionString: proxy.url, max: 1, pipeline: true })
    pool.on('connect', (client) => void client.on('error', () => undefined)).on('error', () => undefined)
  })
  afterEach(async () => {
    proxy.cut()
    await pool.end()
    await proxy.close()
  })

  test('fail as unavailable on a connection that stops responding, and the next one has another', async () => {
    const pooled = pooledReader({ short: pool, long: pool })
    const patient = limitReads(pooled)
    expect((await patient.read(one, [])).rows).toEqual([{ one: 1 }])
    proxy.stall()
    await expect(limitReads(pooled, 100).read(one, [])).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect((await patient.read(one, [])).rows).toEqual([{ one: 1 }])
  })
})
