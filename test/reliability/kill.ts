import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { differences, type Dump, dump } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import type { Home, Homes } from '../support/home.ts'
import { startProcess } from '../support/process.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

/** Fractional part of the golden ratio: its multiples modulo 1 are evenly spread over a run, from any offset. */
const goldenRatioStep = 0.618034

/** Options of the program `kill`. */
interface KillOptions {
  readonly homes: Homes
  /** Path of a feed; by default, copies of the demo world are used. */
  readonly feed?: string
  readonly kills: number
  /** Number of concurrent writers of each killed run; the undisturbed run has one. */
  readonly jobs?: number
  /** Time of the first kill, as a share of the duration of a run. */
  readonly offset: number
  readonly reportProgress: ReportProgress
}

/**
 * Kills an ingest with SIGKILL at different times of its run, restarts it, and compares the database at the end of the
 * feed with that of an undisturbed run.
 */
export async function kill({
  homes,
  feed: given,
  kills,
  jobs = 1,
  offset,
  reportProgress,
}: KillOptions): Promise<ProgramResult> {
  const feed = given ?? (await writeDemoFeed(homes.folder))
  const undisturbed = await runUndisturbed(homes, feed)
  const violations: string[] = []
  let home = await homes.create()
  let feeds = 0
  const compare = async (): Promise<void> => {
    feeds++
    violations.push(
      ...differences(await dumpOf(home), undisturbed.dump).map((violation) => `offset ${offset}: ${violation}`),
    )
  }
  for (let killCount = 0; killCount < kills; killCount++) {
    let milliseconds = ((offset + killCount * goldenRatioStep) % 1) * undisturbed.milliseconds
    // A resumed run may end before the time of its kill: then the feed is applied again, to a new database.
    while (!(await runAndKill(home, ingestArguments(feed, jobs), milliseconds))) {
      await compare()
      home = await homes.create()
      milliseconds *= Math.random()
    }
    reportProgress(`${killCount + 1} kills`)
  }
  await runToEnd(home, ingestArguments(feed, jobs))
  await compare()
  return {
    measurements: { kills, 'feeds applied to their end': feeds, 'read models that differ': violations.length },
    violations,
  }
}

async function writeDemoFeed(folder: string): Promise<string> {
  const feed = path.join(folder, 'feed.ndjson')
  await writeFile(feed, feedText(manyDemoFacts(3)))
  return feed
}

/** Runs an ingest without kills; returns its rows and its duration. */
async function runUndisturbed(homes: Homes, feed: string): Promise<{ dump: Dump; milliseconds: number }> {
  const home = await homes.create()
  const started = performance.now()
  await runToEnd(home, ingestArguments(feed, 1))
  return { milliseconds: performance.now() - started, dump: await dumpOf(home) }
}

function ingestArguments(feed: string, jobs: number): readonly string[] {
  return ['ingest', feed, '--jobs', String(jobs)]
}

async function runToEnd(home: Home, args: readonly string[]): Promise<void> {
  const { status, stderr } = await startProcess([...args], home.env).ended
  if (status !== 0) throw new Error(`An undisturbed ingest exited with status ${status}: ${stderr}`)
}

/** Starts an ingest, and kills it after a time; false if it reached the end of the feed first. */
async function runAndKill(home: Home, args: readonly string[], milliseconds: number): Promise<boolean> {
  const running = startProcess([...args], home.env)
  await Promise.race([wait(milliseconds), running.ended])
  running.kill('SIGKILL')
  const { status, signal, stderr } = await running.ended
  if (signal !== 'SIGKILL' && status !== 0) throw new Error(`An ingest failed after a kill: ${stderr}`)
  return signal === 'SIGKILL'
}

/** Returns all rows of the database. */
async function dumpOf(home: Home): Promise<Dump> {
  const database = await home.open()
  try {
    return await dump(database)
  } finally {
    await database.close()
  }
}
