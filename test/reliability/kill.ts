import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { differences, type Dump, dump } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import type { Home, Homes } from '../support/home.ts'
import { startProcess } from '../support/process.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

/** The golden ratio's steps spread moments over a whole run, wherever they begin. */
const goldenRatioStep = 0.618034

interface KillOptions {
  readonly homes: Homes
  /** A file; without one, many vaults of the demo world. */
  readonly feed?: string
  readonly kills: number
  /** Writers side by side; those of one run are compared with what one writer leaves. */
  readonly jobs?: number
  /** Where the moments begin, from 0 to 1. */
  readonly offset: number
  readonly reportProgress: ReportProgress
}

/**
 * Kills an ingest with SIGKILL at so many moments, each time starting it again, and compares what is there at the end of
 * the feed with what one run without kills ends in.
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
      ...differences(await dumpOf(home), undisturbed.dump).map(
        (violation) => `From the offset ${offset}: ${violation}`,
      ),
    )
  }
  for (let killCount = 0; killCount < kills; killCount++) {
    let milliseconds = ((offset + killCount * goldenRatioStep) % 1) * undisturbed.milliseconds
    // A run resumes, and so may end before its moment: that counts for none, and a new home begins.
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
  if (status !== 0) throw new Error(`An ingest that nobody killed ended with ${status}: ${stderr}`)
}

/** Runs the feed, and kills the run after a while; false where it came to its end first. */
async function runAndKill(home: Home, args: readonly string[], milliseconds: number): Promise<boolean> {
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
