import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { commandLine } from '../support/process.ts'
import { mountSmallDisk } from '../support/small-disk.ts'

const facts = manyDemoFacts(12)
const text = feedText(facts)
const half = text.indexOf('\n', text.length / 2) + 1
// The files of a new server and of some databases.
const disk = mountSmallDisk(160, postgresUrl === undefined ? 'needs PostgreSQL' : noOwnPostgreSql)
const waits =
  /at 127\.0\.0\.1:\d+ has too little disk left: make room there\. *The feed waits, and goes on by itself|The feed waits, and goes on by itself: The database at \S+ has too little disk left/

describe.skipIf(disk.skipReason !== '')(`while the disk of PostgreSQL is full${disk.skipReason}`, () => {
  const { folder, leaveFree, freeSpace, remove } = disk
  const homes = prepareHomes()
  const { start } = commandLine()
  let server: OwnPostgreSql
  let whole: Dump
  let url: string
  let feed: string

  const dumpOf = async (): Promise<Dump> => {
    const database = await openDatabase({ engine: 'postgresql', url, connections: 2 })
    try {
      return await dumpReadModel(database)
    } finally {
      await database.close()
    }
  }
  const create = async (): Promise<string> => {
    const created = await createOnServer(server.url)
    await (await openDatabase({ engine: 'postgresql', url: created, connections: 2 })).close()
    return created
  }

  beforeAll(async () => {
    server = await startOwnPostgreSql(folder)
    feed = path.join(homes.folder, 'feed.ndjson')
    await writeFile(feed, text)
    url = await create()
    expect(await start(['ingest', feed], { DATABASE_URL: url }).ended).toMatchObject({ status: 0 })
    whole = await dumpOf()
  }, 120_000)
  beforeEach(async () => {
    await freeSpace()
    url = await create()
  })
  afterAll(async () => {
    await server.remove()
    await remove()
  })

  test('an ingest waits, and applies each fact once', async () => {
    await leaveFree(300_000)
    const running = start(['ingest', feed], { DATABASE_URL: url })
    await running.says(waits)
    await freeSpace()
    const { status, stderr } = await running.ended
    expect(status, stderr).toBe(0)
    expect(stderr).toMatch(new RegExp(`applied +${facts.length} .*\nskipped +0\nrejected +0\n$`))
    expect(await dumpOf()).toEqual(whole)
  }, 120_000)

  test('a gateway continues to answer, and its feed resumes by itself', async () => {
    const followed = path.join(homes.folder, 'followed.ndjson')
    await writeFile(followed, text.slice(0, half))
    const gateway = start(['serve', '--feed', followed], {
      DATABASE_URL: url,
      PORT: '0',
      LOG_LEVEL: 'info',
      CACHE_MEGABYTES: '0',
    })
    const [, port = ''] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    const list = async (): Promise<{ status: number; body: string }> => {
      const response = await fetch(`http://127.0.0.1:${port}/strategies`)
      return { status: response.status, body: await response.text() }
    }
    await vi.waitFor(async () => expect((await list()).body).not.toBe('[]'), { timeout: 30_000, interval: 100 })
    await wait(2_000)
    await leaveFree(300_000)
    await appendFile(followed, text.slice(half))
    await gateway.says(waits)
    const before = await list()
    expect(before.status).toBe(200)
    await wait(1_000)
    expect(await list()).toEqual(before)
    await freeSpace()
    await gateway.says(/The feed goes on/)
    await vi.waitFor(async () => expect((await dumpOf())['vault']).toEqual(whole['vault']), {
      timeout: 60_000,
      interval: 500,
    })
    gateway.kill('SIGTERM')
    expect((await gateway.ended).status).toBe(0)
    expect(await dumpOf()).toEqual(whole)
  }, 120_000)
})
