import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Dump, dump } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { type Home, prepareHomes } from '../support/home.ts'
import { commandLine } from '../support/process.ts'

const kills = 20
const homes = prepareHomes()
const { start, run } = commandLine()

let feed: string
/** What one run without kills ends in, and how long it takes. */
let whole: Dump
let wholeMilliseconds: number

beforeAll(async () => {
  feed = path.join(homes.folder, 'feed.ndjson')
  await writeFile(feed, feedText(manyDemoFacts(3)))
  const home = await homes.create()
  const started = performance.now()
  expect(await run(['ingest', feed], home.env)).toMatchObject({ status: 0 })
  wholeMilliseconds = performance.now() - started
  whole = await dumpOf(home)
})

async function dumpOf(home: Home): Promise<Dump> {
  const database = await home.open()
  try {
    return await dump(database)
  } finally {
    await database.close()
  }
}

/** Runs the feed, and kills the run after a while. */
async function runFor(home: Home, milliseconds: number): Promise<'killed' | 'ended'> {
  const running = start(['ingest', feed], home.env)
  await Promise.race([wait(milliseconds), running.ended])
  running.kill('SIGKILL')
  const outcome = await running.ended
  if (outcome.signal === 'SIGKILL') return 'killed'
  expect(outcome.status, outcome.stderr).toBe(0)
  return 'ended'
}

test(`a run killed at ${kills} random moments and started again ends as one that never was`, async () => {
  const offset = Math.random()
  // Steps of the golden ratio spread the moments over the whole run, wherever they begin.
  const moments = Array.from({ length: kills }, (_, index) => ((offset + index * 0.618034) % 1) * wholeMilliseconds)
  let home = await homes.create()
  for (const moment of moments) {
    let milliseconds = moment
    // A run resumes, and so may end before its moment: that counts for none, and a new home begins.
    while ((await runFor(home, milliseconds)) === 'ended') {
      expect(await dumpOf(home), `from the offset ${offset}`).toEqual(whole)
      home = await homes.create()
      milliseconds *= Math.random()
    }
  }
  expect(await run(['ingest', feed], home.env)).toMatchObject({ status: 0 })
  expect(await dumpOf(home), `from the offset ${offset}`).toEqual(whole)
}, 600_000)
