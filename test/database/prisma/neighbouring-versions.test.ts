import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { feedText } from '../../support/feeds.ts'
import { fleet, fleetFacts } from '../../support/fleet.ts'
import { migrationNames } from '../../support/older-database.ts'
import { extractVersionBefore, noVersionBefore } from '../../support/older-version.ts'
import { type Running, startProcess } from '../../support/process.ts'
import { deposit, mark, midnight, opened, addressOf } from '../../support/world.ts'

const patience = { timeout: 30_000, interval: 100 }
const vault = fleet[0]?.address ?? ''
const late = addressOf(77)
/** Facts of one hour: a vault that is marked, and one that opens then. */
const factsAt = (hour: number): FactInput[] => {
  const ts = midnight + hour * 3_600
  const value = String(1_000 + hour)
  const newcomer = hour === 1 ? [opened(late, 'one', ts), deposit(late, ts, '500')] : []
  return [...newcomer, mark(vault, ts, value), deposit(vault, ts + 1, '5', value), mark(late, ts, `${500 + hour}`)]
}

interface Served {
  readonly running: Running
  readonly origin: string
}

// Processes of two versions share one database, which is impossible with the embedded one.
describe.skipIf(postgresUrl === undefined || noVersionBefore !== null)(
  `gateways of this version and of the one before${noVersionBefore === null ? '' : ` (${noVersionBefore})`}`,
  () => {
    let folder: string
    let feed: string
    let url: string
    let older: string
    let known: string[]
    const started: Running[] = []

    beforeAll(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'versions-'))
      older = path.join(folder, 'before')
      known = extractVersionBefore(older)
      feed = path.join(folder, 'feed.ndjson')
      await writeFile(feed, feedText(fleetFacts))
      url = await createOnServer(postgresUrl ?? '')
    })
    afterAll(async () => {
      for (const running of started) running.kill('SIGKILL')
      await Promise.all(started.map(({ ended }) => ended))
      await rm(folder, { recursive: true })
      const client = new pg.Client({ connectionString: postgresUrl })
      await client.connect()
      await client.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`)
      await client.end()
    })

    async function serve(project: string | undefined, ...args: string[]): Promise<Served> {
      const env = { DATABASE_URL: url, PORT: '0', DEMO: '0', LOG_LEVEL: 'error' }
      const running = startProcess(['serve', ...args], env, undefined, project)
      started.push(running)
      const [, port = ''] = await running.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
      return { running, origin: `http://127.0.0.1:${port}` }
    }

    const get = async ({ origin }: Served, target: string): Promise<unknown> => (await fetch(origin + target)).json()
    const newestOf = async (served: Served): Promise<unknown> =>
      ((await get(served, `/vault/${late}/snapshot`)) as { valueUsd?: number }).valueUsd
    /** Returns all REST responses about the vaults. */
    const allOf = (served: Served): Promise<unknown[]> => {
      const ofVaults = [...fleet.map(({ address }) => address), late].flatMap((address) =>
        ['snapshot', 'equity?points=50', 'events'].map((name) => `/vault/${address}/${name}`),
      )
      return Promise.all(['/strategies', '/universe', ...ofVaults].map((target) => get(served, target)))
    }

    test('serve one database, before, during and after a migration, whichever applies the feed', async () => {
      const feeding = await serve(older, '--feed', feed)
      const reading = await serve(older)
      const untilFed = (served: Served, hour: number) => expect.poll(() => newestOf(served), patience).toBe(500 + hour)
      await appendFile(feed, feedText(factsAt(1)))
      await untilFed(reading, 1)

      const migration = startProcess(['migrate'], { DATABASE_URL: url })
      const { status, stdout, stderr } = await migration.ended
      const lacking = (await migrationNames()).filter((name) => !known.includes(name))
      expect(lacking).not.toEqual([])
      for (const name of lacking) expect(stdout + stderr).toContain(name)
      expect(status).toBe(0)

      // The version before applies facts to the tables of this one.
      const newer = await serve(undefined)
      await appendFile(feed, feedText(factsAt(2)))
      await untilFed(reading, 2)
      await untilFed(newer, 2)
      expect(await allOf(newer)).toEqual(await allOf(reading))

      // This version takes the feed over, and the one before still responds.
      feeding.running.kill('SIGTERM')
      expect((await feeding.running.ended).status).toBe(0)
      const taking = await serve(undefined, '--feed', feed)
      await appendFile(feed, feedText(factsAt(3)))
      await untilFed(reading, 3)
      await untilFed(newer, 3)
      await untilFed(taking, 3)
      expect(await allOf(newer)).toEqual(await allOf(reading))
      for (const { running } of [reading, newer, taking]) expect(running.said()).not.toContain('"level":"error"')
    }, 180_000)
  },
)
