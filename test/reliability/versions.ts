import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { seqOf } from '../../src/domain/identity/data-version.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { addressOf, apply, mark, midnight, opened, strategy } from '../support/world.ts'
import { type Answered, type Asked, clientOf } from './client.ts'
import { failuresIn, startGateway } from './gateway.ts'
import type { Finding, Say } from './show.ts'

const readers = 8
const markMilliseconds = 10
/** Its marks carry one number, as value and as time: the number of a version is told by its newest fact. */
const counted = addressOf(1)
/** Vaults that readers ask for, which exist from the beginning to the end. */
const still = addressOf(2)

interface VersionsOptions {
  readonly homes: Homes
  readonly answers: number
  readonly workers: number
  readonly say: Say
}

/** Versions and content of one answer. */
interface Told {
  readonly version: string
  readonly newestTs: number
  /** The number in its content; null where it has none, being of what stands still. */
  readonly number: number | null
}

/** Counts over all readers. */
interface Met {
  readonly told: Told[]
  readonly flaws: string[]
  /** The newest version that any of them was told. */
  newest: string
  notModified: number
  /** How many of those told a later version than the answer whose content still stands. */
  notModifiedLater: number
}

interface Question {
  readonly asked: Asked
  /** The number in a body of a 200. */
  readonly numberIn: (body: never) => number | null
}

const snapshotOf = (vault: string): string => `/vault/${vault}/snapshot`
const document = `{ _meta { version } vault(address: "${counted}") { valueUsd } }`
const aliased = `{ counted: vault(address: "${counted}") { valueUsd } vaults(first: 5) { nodes { address valueUsd } } }`
const json = { 'content-type': 'application/json' }

type OfCounted = { data: { vault: { valueUsd: number }; counted: { valueUsd: number } } }

const questions: readonly Question[] = [
  { asked: { method: 'GET', target: snapshotOf(counted) }, numberIn: (body: { valueUsd: number }) => body.valueUsd },
  {
    asked: { method: 'GET', target: `/graphql?query=${encodeURIComponent(aliased)}` },
    numberIn: ({ data }: OfCounted) => data.counted.valueUsd,
  },
  {
    asked: { method: 'POST', target: '/graphql', headers: json, body: JSON.stringify({ query: document }) },
    numberIn: ({ data }: OfCounted) => data.vault.valueUsd,
  },
]

/**
 * Asks a gateway beside a feed: the version that an answer tells is not newer than its content, versions never go back on
 * a connection, what is kept and what the client has is told the newest one, and a version that one was told is waited for
 * by all.
 */
export async function versions({ homes, answers, workers, say }: VersionsOptions): Promise<Finding> {
  const home = await homes.create()
  const before = await home.open()
  await apply(before, [
    strategy('calm'),
    opened(counted, 'calm'),
    opened(still, 'calm'),
    mark(counted, midnight + 1, '1'),
  ])
  await before.close()
  const feed = path.join(homes.folder, 'numbers.ndjson')
  await writeFile(feed, '')
  const gateway = await startGateway(['--feed', feed], {
    ...home.env,
    ...(workers > 1 && { WORKERS: String(workers) }),
  })
  const met: Met = { told: [], flaws: [], newest: '', notModified: 0, notModifiedLater: 0 }
  const isOver = (): boolean => met.told.length >= answers || met.flaws.length > 0
  const writing = writeNumbers(feed, isOver)
  await Promise.all(Array.from({ length: readers }, (_, index) => read(gateway.port, index, met, isOver, say)))
  const marks = await writing
  const outcome = await gateway.stop()
  const flaws = [...met.flaws, ...failuresIn(outcome).map((line) => `The gateway logged ${line}`)]
  const after = await home.open()
  const rows = await after.query<Logged>({ name: 'commits_of_show', text: commits }, [])
  await after.close()
  flaws.push(...flawsOf(met.told, rows))
  if (met.notModifiedLater === 0) flaws.push('No 304 told a later version than the answer that still stands')
  const figures = {
    answers: met.told.length,
    'marks, and commits of them': `${marks}, ${rows.length}`,
    'answers 304, and those that told a later version': `${met.notModified}, ${met.notModifiedLater}`,
    'wrong answers': flaws.length,
  }
  return { figures, flaws }
}

async function writeNumbers(feed: string, isOver: () => boolean): Promise<number> {
  let number = 1
  while (!isOver()) {
    number++
    await appendFile(feed, feedText([mark(counted, midnight + number, String(number))]))
    await wait(markMilliseconds)
  }
  return number
}

/** One connection, asked for one thing at a time. */
async function read(port: number, index: number, met: Met, isOver: () => boolean, say: Say): Promise<void> {
  const client = clientOf(port, 1)
  let last = 0
  let held: { readonly etag: string; readonly seq: number } | null = null
  for (let turn = index; !isOver(); turn++) {
    const question = questions[turn % (questions.length + 1)]
    const { asked, numberIn } = question ?? {
      asked: { method: 'GET', target: snapshotOf(still) },
      numberIn: () => null,
    }
    // What another reader was told may not be heard of yet by this one's process.
    const least = turn % 5 === 0 ? met.newest : ''
    const headers = {
      ...asked.headers,
      ...(least !== '' && { 'min-data-version': least }),
      ...(question === undefined && held !== null && { 'if-none-match': held.etag }),
    }
    const answered = await client.ask({ ...asked, headers })
    const told = toldBy(answered, numberIn)
    if (typeof told === 'string') met.flaws.push(`${asked.target} ${told}`)
    else {
      const seq = seqOf(told.version)
      if (seq < last) met.flaws.push(`A connection was told version ${seq} after ${last}`)
      if (least !== '' && seq < seqOf(least)) met.flaws.push(`Version ${least} was asked for, and ${told.version} came`)
      last = seq
      if (met.newest === '' || seq > seqOf(met.newest)) met.newest = told.version
      if (answered.status === 304) met.notModified++
      if (answered.status === 304 && held !== null && seq > held.seq) met.notModifiedLater++
      if (question === undefined && answered.status === 200) held = { etag: String(answered.headers['etag']), seq }
      met.told.push(told)
    }
    if (met.told.length % 1_000 === 0) say(`${met.told.length} answers`)
  }
  client.close()
}

/** Parses an answer; returns its errors where it contradicts itself. */
function toldBy({ status, headers, body }: Answered, numberIn: Question['numberIn']): Told | string {
  const [version, time, age] = ['data-version', 'data-time', 'data-age'].map((name) => headers[name])
  if (status !== 200 && status !== 304) return `is ${status}: ${body.slice(0, 200)}`
  if (typeof version !== 'string' || typeof time !== 'string' || typeof age !== 'string') return 'tells no version'
  const content = status === 304 ? null : (JSON.parse(body) as { data?: { _meta?: { version: string } } })
  const inBody = content?.data?._meta?.version
  if (inBody !== undefined && inBody !== version) return `tells ${inBody} in its body, and ${version} beside it`
  return { version, newestTs: Number(time), number: content === null ? null : numberIn(content as never) }
}

interface Logged {
  readonly version: string
  readonly newestTs: number
}

const commits = 'select version, newest_ts::float8 as "newestTs" from commit_log order by seq'

/** Disagreements with the commit log: the number of a version is that of its newest fact. */
function flawsOf(told: readonly Told[], rows: readonly Logged[]): string[] {
  const newestOf = new Map(rows.map(({ version, newestTs }) => [version, newestTs]))
  const committed = new Set(rows.map(({ newestTs }) => newestTs - midnight))
  return told.flatMap(({ version, newestTs, number }) => {
    const newest = newestOf.get(version)
    if (newest === undefined) return [`Version ${version} is none of the log`]
    if (newest !== newestTs) return [`Version ${version} is of ${newest}, and ${newestTs} was told`]
    if (number === null) return []
    if (number < newest - midnight)
      return [`Content ${number} is older than version ${version}, of ${newest - midnight}`]
    return committed.has(number) ? [] : [`Content ${number} was never committed`]
  })
}
