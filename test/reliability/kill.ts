import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { differences, type Dump, dump } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import type { Home, Homes } from '../support/home.ts'
import { startProcess } from '../support/process.ts'
import type { Finding, Say } from './show.ts'

/** The golden ratio's steps spread moments over a whole run, wherever they begin. */
const golden = 0.618034

interface KillOptions {
  readonly homes: Homes
  /** A file; without one, many vaults of the demo world. */
  readonly feed?: string
  readonly kills: number
  /** Writers side by side; those of one run are compared with what one writer leaves. */
  readonly jobs?: number
  /** Where the moments begin, from 0 to 1. */
  readonly offset: number
  readonly say: Say
}

/**
 * Kills an ingest with SIGKILL at so many moments, each time starting it again, and compares what is there at the end of
 * the feed with what one run without kills ends in.
 */
export async function kill({ homes, feed: given, kills, jobs = 1, offset, say }: KillOptions): Promise<Finding> {
  const feed = given ?? (await writeDemoFeed(homes.folder))
  const unharmed = await runWhole(homes, feed)
  const flaws: string[] = []
  let home = await homes.create()
  let feeds = 0
  const compare = async (): Promise<void> => {
    feeds++
    flaws.push(...differences(await dumpOf(home), unharmed.dump).map((flaw) => `From the offset ${offset}: ${flaw}`))
  }
  for (let killed = 0; killed < kills; killed++) {
    let milliseconds = ((offset + killed * golden) % 1) * unharmed.milliseconds
    // A run resumes, and so may end before its moment: that counts for none, and a new home begins.
    while (!(await isKilled(home, argsOf(feed, jobs), milliseconds))) {
      await compare()
      home = await homes.create()
      milliseconds *= Math.random()
    }
    say(`${killed + 1} kills`)
  }
  await runToEnd(home, argsOf(feed, jobs))
  await compare()
  return { figures: { kills, 'feeds applied to their end': feeds, 'read models that differ': flaws.length }, flaws }
}

async function writeDemoFeed(folder: string): Promise<string> {
  const feed = path.join(folder, 'feed.ndjson')
  await writeFile(feed, feedText(manyDemoFacts(3)))
  return feed
}

async function runWhole(homes: Homes, feed: string): Promise<{ dump: Dump; milliseconds: number }> {
  const home = await homes.create()
  const started = performance.now()
  await runToEnd(home, argsOf(feed, 1))
  return { milliseconds: performance.now() - started, dump: await dumpOf(home) }
}

function argsOf(feed: string, jobs: number): readonly string[] {
  return ['ingest', feed, '--jobs', String(jobs)]
}

async function runToEnd(home: Home, args: readonly string[]): Promise<void> {
  const { status, stderr } = await startProcess([...args], home.env).ended
  if (status !== 0) throw new Error(`An ingest that nobody killed ended with ${status}: ${stderr}`)
}

/** Runs the feed, and kills the run after a while; false where it came to its end first. */
async function isKilled(home: Home, args: readonly string[], milliseconds: number): Promise<boolean> {
  const running = startProcess([...args], home.env)
  await Promise.race([wait(milliseconds), running.ended])
  running.kill('SIGKILL')
  const { status, signal, stderr } = await running.ended
  if (signal !== 'SIGKILL' && status !== 0) throw new Error(`An ingest failed after a kill: ${stderr}`)
  return signal === 'SIGKILL'
}

async function dumpOf(home: Home): Promise<Dump> {
  const database = await home.open()
  try {
    return await dump(database)
  } finally {
    await database.close()
  }
}
