import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { commandLine, type Running } from '../support/process.ts'
import { mountSmallDisk } from '../support/small-disk.ts'

const megabyte = 1024 * 1024
const disk = mountSmallDisk(120)
const facts = manyDemoFacts(5)

describe.skipIf(disk.skipReason !== '')(`on a full disk${disk.skipReason}`, () => {
  const { folder, leaveFree, freeSpace, remove } = disk
  const homes = prepareHomes()
  const { start, run } = commandLine()

  let whole: Dump

  const dumpOf = async (dataDir: string): Promise<Dump> => {
    const database = await openDatabase({ engine: 'pglite', dataDir })
    try {
      return await dumpReadModel(database)
    } finally {
      await database.close()
    }
  }

  beforeAll(async () => {
    await writeFile(path.join(homes.folder, 'feed.ndjson'), feedText(facts))
    const { dataDir, env } = await homes.createInFolder()
    expect(await run(['ingest', path.join(homes.folder, 'feed.ndjson')], env)).toMatchObject({ status: 0 })
    whole = await dumpOf(dataDir)
  }, 300_000)
  beforeEach(() => freeSpace)
  afterAll(() => remove())

  describe('the embedded database', () => {
    const dataDir = path.join(folder, 'data')
    const env = { DATA_DIR: dataDir }
    const full = `The database in ${dataDir} has too little disk left: make room there.`
    const feed = (): string => path.join(homes.folder, 'feed.ndjson')

    test('is rejected at the start, with a remedy', async () => {
      await leaveFree(megabyte)
      const { status, stderr } = await run(['ingest', feed()], env)
      expect([status, stderr]).toEqual([1, `${full}\n`])
    })

    /** Starts an ingest, and waits until it has committed facts and waits for disk space. */
    const waiting = async (): Promise<Running> => {
      await rm(dataDir, { recursive: true, force: true })
      await (await openDatabase({ engine: 'pglite', dataDir })).close()
      await leaveFree(33 * megabyte)
      const running = start(['ingest', feed()], env)
      await running.says(/too little disk left/)
      return running
    }

    test('lets an ingest wait for disk space, and continue by itself', async () => {
      const running = await waiting()
      await freeSpace()
      const { status, stderr } = await running.ended
      expect(status, stderr).toBe(0)
      expect(stderr).toContain(`${full} The feed waits, and goes on by itself.\nThe feed goes on.\n`)
      expect(stderr).toMatch(new RegExp(`applied +${facts.length} .*\nskipped +0\n`))
      expect(await dumpOf(dataDir)).toEqual(whole)
    }, 300_000)

    test('keeps committed facts if the ingest is stopped, and the next one continues', async () => {
      const running = await waiting()
      running.kill('SIGTERM')
      expect(await running.ended).toMatchObject({ status: 1 })
      await freeSpace()
      const { status, stderr } = await run(['ingest', feed()], env)
      expect(status, stderr).toBe(0)
      expect(stderr).toMatch(/skipped +[1-9]/)
      expect(await dumpOf(dataDir)).toEqual(whole)
    }, 300_000)
  })

  test('of the rejected lines makes the feed wait, and writes each line once', async () => {
    const bad = Array.from({ length: 3 }, (_, index) => `{"kind":"bad ${index} ${'x'.repeat(megabyte / 2)}"}\n`)
    const feed = path.join(folder, 'bad.ndjson')
    const text = feedText(facts)
    await writeFile(feed, bad.join('') + text)
    await leaveFree(megabyte)
    const { dataDir, env } = await homes.createInFolder()
    const running = start(['ingest', '--skip-bad', feed], env)
    await running.says(/can't be set aside in \S+rejects\.ndjson: ENOSPC[^\n]*Make room on its disk\. The feed waits/)
    await freeSpace()
    const { status, stderr } = await running.ended
    expect(status, stderr).toBe(1)
    expect(stderr).toMatch(/rejected +3 /)
    const entries = (await readFile(`${feed}.rejects.ndjson`, 'utf8')).trimEnd().split('\n')
    expect(entries.map((entry) => (JSON.parse(entry) as { line: number }).line)).toEqual([1, 2, 3])
    expect(await dumpOf(dataDir)).toEqual(whole)
  }, 300_000)
})
