import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { type Dump, dump } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { commandLine } from '../support/process.ts'
import { type Proxy, proxyTo } from '../support/proxy.ts'

const cuts = 12
/** More than one batch: an outage comes before the last one. */
const facts = manyDemoFacts(12)
const waits = /The feed waits, and goes on by itself/
const timesIn = (words: RegExp, text: string): number => [...text.matchAll(new RegExp(words, 'g'))].length

const opened = (url: string): Promise<Database> => openDatabase({ engine: 'postgresql', url, connections: 2 })
const nameOf = (url: string): string => new URL(url).pathname.slice(1)

describe.runIf(postgresUrl !== undefined)('while PostgreSQL goes away', () => {
  const homes = prepareHomes()
  const { start, run } = commandLine()

  let feed: string
  let template: string
  let whole: Dump
  let url: string
  let proxy: Proxy

  /** URL of the database that bypasses the proxy. */
  let direct: Database

  const linesApplied = async (): Promise<number> => {
    const [feed] = await direct.prisma.feed.findMany()
    return Number(feed?.line ?? 0)
  }
  const begun = () => vi.waitFor(async () => expect(await linesApplied()).toBeGreaterThan(0), { timeout: 30_000 })

  beforeAll(async () => {
    feed = path.join(homes.folder, 'feed.ndjson')
    await writeFile(feed, feedText(facts))
    template = await createOnServer(postgresUrl ?? '')
    await (await opened(template)).close()
    url = await createOnServer(postgresUrl ?? '', nameOf(template))
    expect(await run(['ingest', feed], { DATABASE_URL: url })).toMatchObject({ status: 0 })
    direct = await opened(url)
    whole = await dump(direct)
    await direct.close()
  })
  beforeEach(async () => {
    url = await createOnServer(postgresUrl ?? '', nameOf(template))
    direct = await opened(url)
    proxy = await proxyTo(url)
    return async () => {
      await proxy.close()
      await direct.close()
    }
  })

  test(`an ingest waits and goes on, and applies each fact once, cut off ${cuts} times and with answers lost`, async () => {
    const running = start(['ingest', feed], { DATABASE_URL: proxy.url })
    await begun()
    proxy.loseCommits(2)
    for (let cut = 0; cut < cuts; cut++) {
      await wait(Math.random() * 300)
      proxy.cut()
    }
    const { status, stderr } = await running.ended
    expect(status, stderr).toBe(0)
    expect(proxy.lost).toBe(2)
    expect(stderr).toMatch(new RegExp(`applied +${facts.length} .*\nskipped +0\nrejected +0\n$`))
    expect(timesIn(waits, stderr)).toBeGreaterThan(0)
    expect(timesIn(/The feed goes on\./, stderr)).toBeGreaterThan(0)
    expect(timesIn(/The feed goes on\./, stderr)).toBeLessThanOrEqual(timesIn(waits, stderr))
    expect(await dump(direct)).toEqual(whole)
  })

  test('a waiting ingest stops immediately, and the next one applies the rest', async () => {
    const running = start(['ingest', feed], { DATABASE_URL: proxy.url })
    await begun()
    await proxy.close()
    await running.says(waits)
    running.kill('SIGTERM')
    const { status, stderr } = await running.ended
    expect(status).toBe(1)
    expect(stderr).toContain('Stopped before the end of the feed')
    expect(await run(['ingest', feed], { DATABASE_URL: url })).toMatchObject({ status: 0 })
    expect(await dump(direct)).toEqual(whole)
  })

  test('a followed feed waits, reports it once, and continues', async () => {
    const env = { DATABASE_URL: proxy.url, PORT: '0', LOG_LEVEL: 'info' }
    const text = feedText(facts)
    const half = text.indexOf('\n', text.length / 2) + 1
    const followed = path.join(homes.folder, 'followed.ndjson')
    await writeFile(followed, text.slice(0, half))
    const gateway = start(['serve', '--feed', followed], env)
    await begun()
    await proxy.close()
    await appendFile(followed, text.slice(half))
    await gateway.says(waits)
    await wait(1_000)
    await proxy.open()
    await gateway.says(/The feed goes on/)
    await vi.waitFor(async () => expect(await linesApplied()).toBe(facts.length), { timeout: 30_000 })
    gateway.kill('SIGTERM')
    const { status, stderr } = await gateway.ended
    expect(status).toBe(0)
    expect(timesIn(waits, stderr)).toBe(1)
    expect({ ...(await dump(direct)), feed: null }).toEqual({ ...whole, feed: null })
  })

  test('an ingest that never reached it ends with a hint', async () => {
    await proxy.close()
    const { status, stderr } = await run(['ingest', feed], { DATABASE_URL: proxy.url })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+ can't be used: .*ECONNREFUSED.*Check DATABASE_URL.*\n$/)
  })
})
