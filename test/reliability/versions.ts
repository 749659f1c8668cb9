import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { seqOf } from '../../src/domain/identity/data-version.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { addressOf, apply, mark, midnight, opened, strategy } from '../support/world.ts'
import { createClient, type HttpRequest, type TimedResponse } from './client.ts'
import { errorLogLines, startGateway } from './gateway.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

const readers = 8
const markMilliseconds = 10
/** Its marks carry one number, as value and as time: the number of a version is told by its newest fact. */
const countedVault = addressOf(1)
/** Vaults that readers ask for, which exist from the beginning to the end. */
const unchangedVault = addressOf(2)

interface VersionsOptions {
  readonly homes: Homes
  readonly answers: number
  readonly workers: number
  readonly reportProgress: ReportProgress
}

/** Versions and content of one answer. */
interface VersionedResponse {
  readonly version: string
  readonly newestTs: number
  /** The number in its content; null where it has none, being of what stands still. */
  readonly number: number | null
}

/** Counts over all readers. */
interface ReaderTotals {
  readonly checked: VersionedResponse[]
  readonly violations: string[]
  /** The newest version that any of them was told. */
  newest: string
  notModified: number
  /** How many of those told a later version than the answer whose content still stands. */
  notModifiedNewer: number
}

interface CheckedRequest {
  readonly request: HttpRequest
  /** The number in a body of a 200. */
  readonly numberFrom: (body: never) => number | null
}

const snapshotOf = (vault: string): string => `/vault/${vault}/snapshot`
const document = `{ _meta { version } vault(address: "${countedVault}") { valueUsd } }`
const aliased = `{ counted: vault(address: "${countedVault}") { valueUsd } vaults(first: 5) { nodes { address valueUsd } } }`
const json = { 'content-type': 'application/json' }

type CountedData = { data: { vault: { valueUsd: number }; countedVault: { valueUsd: number } } }

const checkedRequests: readonly CheckedRequest[] = [
  {
    request: { method: 'GET', target: snapshotOf(countedVault) },
    numberFrom: (body: { valueUsd: number }) => body.valueUsd,
  },
  {
    request: { method: 'GET', target: `/graphql?query=${encodeURIComponent(aliased)}` },
    numberFrom: ({ data }: CountedData) => data.countedVault.valueUsd,
  },
  {
    request: { method: 'POST', target: '/graphql', headers: json, body: JSON.stringify({ query: document }) },
    numberFrom: ({ data }: CountedData) => data.vault.valueUsd,
  },
]

/**
 * Asks a gateway beside a feed: the version that an answer tells is not newer than its content, versions never go back on
 * a connection, what is kept and what the client has is told the newest one, and a version that one was told is waited for
 * by all.
 */
export async function versions({ homes, answers, workers, reportProgress }: VersionsOptions): Promise<ProgramResult> {
  const home = await homes.create()
  const databaseBefore = await home.open()
  await apply(databaseBefore, [
    strategy('calm'),
    opened(countedVault, 'calm'),
    opened(unchangedVault, 'calm'),
    mark(countedVault, midnight + 1, '1'),
  ])
  await databaseBefore.close()
  const feed = path.join(homes.folder, 'numbers.ndjson')
  await writeFile(feed, '')
  const gateway = await startGateway(['--feed', feed], {
    ...home.env,
    ...(workers > 1 && { WORKERS: String(workers) }),
  })
  const totals: ReaderTotals = { checked: [], violations: [], newest: '', notModified: 0, notModifiedNewer: 0 }
  const isStopped = (): boolean => totals.checked.length >= answers || totals.violations.length > 0
  const writing = writeNumbers(feed, isStopped)
  await Promise.all(
    Array.from({ length: readers }, (_, index) => read(gateway.port, index, totals, isStopped, reportProgress)),
  )
  const marks = await writing
  const outcome = await gateway.stop()
  const violations = [...totals.violations, ...errorLogLines(outcome).map((line) => `The gateway logged ${line}`)]
  const databaseAfter = await home.open()
  const rows = await databaseAfter.query<LoggedCommit>({ name: 'commits_of_show', text: commitLogSql }, [])
  await databaseAfter.close()
  violations.push(...commitLogViolations(totals.checked, rows))
  if (totals.notModifiedNewer === 0) violations.push('No 304 told a later version than the answer that still stands')
  const measurements = {
    answers: totals.checked.length,
    'marks, and commits of them': `${marks}, ${rows.length}`,
    'answers 304, and those that told a later version': `${totals.notModified}, ${totals.notModifiedNewer}`,
    'wrong answers': violations.length,
  }
  return { measurements, violations }
}

async function writeNumbers(feed: string, isStopped: () => boolean): Promise<number> {
  let number = 1
  while (!isStopped()) {
    number++
    await appendFile(feed, feedText([mark(countedVault, midnight + number, String(number))]))
    await wait(markMilliseconds)
  }
  return number
}

/** One connection, asked for one thing at a time. */
async function read(
  port: number,
  readerIndex: number,
  totals: ReaderTotals,
  isStopped: () => boolean,
  reportProgress: ReportProgress,
): Promise<void> {
  const client = createClient(port, 1)
  let lastSeq = 0
  let cached: { readonly etag: string; readonly seq: number } | null = null
  for (let index = readerIndex; !isStopped(); index++) {
    const selected = checkedRequests[index % (checkedRequests.length + 1)]
    const { request, numberFrom } = selected ?? {
      request: { method: 'GET', target: snapshotOf(unchangedVault) },
      numberFrom: () => null,
    }
    // What another reader was told may not be heard of yet by this one's process.
    const minVersion = index % 5 === 0 ? totals.newest : ''
    const headers = {
      ...request.headers,
      ...(minVersion !== '' && { 'min-data-version': minVersion }),
      ...(selected === undefined && cached !== null && { 'if-none-match': cached.etag }),
    }
    const response = await client.send({ ...request, headers })
    const checked = parseResponse(response, numberFrom)
    if (typeof checked === 'string') totals.violations.push(`${request.target} ${checked}`)
    else {
      const seq = seqOf(checked.version)
      if (seq < lastSeq) totals.violations.push(`A connection was told version ${seq} after ${lastSeq}`)
      if (minVersion !== '' && seq < seqOf(minVersion))
        totals.violations.push(`Version ${minVersion} was asked for, and ${checked.version} came`)
      lastSeq = seq
      if (totals.newest === '' || seq > seqOf(totals.newest)) totals.newest = checked.version
      if (response.status === 304) totals.notModified++
      if (response.status === 304 && cached !== null && seq > cached.seq) totals.notModifiedNewer++
      if (selected === undefined && response.status === 200) cached = { etag: String(response.headers['etag']), seq }
      totals.checked.push(checked)
    }
    if (totals.checked.length % 1_000 === 0) reportProgress(`${totals.checked.length} answers`)
  }
  client.close()
}

/** Parses an answer; returns its errors where it contradicts itself. */
function parseResponse(
  { status, headers, body }: TimedResponse,
  numberFrom: CheckedRequest['numberFrom'],
): VersionedResponse | string {
  const [version, time, age] = ['data-version', 'data-time', 'data-age'].map((name) => headers[name])
  if (status !== 200 && status !== 304) return `is ${status}: ${body.slice(0, 200)}`
  if (typeof version !== 'string' || typeof time !== 'string' || typeof age !== 'string') return 'tells no version'
  const content = status === 304 ? null : (JSON.parse(body) as { data?: { _meta?: { version: string } } })
  const inBody = content?.data?._meta?.version
  if (inBody !== undefined && inBody !== version) return `tells ${inBody} in its body, and ${version} beside it`
  return { version, newestTs: Number(time), number: content === null ? null : numberFrom(content as never) }
}

interface LoggedCommit {
  readonly version: string
  readonly newestTs: number
}

const commitLogSql = 'select version, newest_ts::float8 as "newestTs" from commit_log order by seq'

/** Disagreements with the commit log: the number of a version is that of its newest fact. */
function commitLogViolations(checked: readonly VersionedResponse[], rows: readonly LoggedCommit[]): string[] {
  const newestTsByVersion = new Map(rows.map(({ version, newestTs }) => [version, newestTs]))
  const committed = new Set(rows.map(({ newestTs }) => newestTs - midnight))
  return checked.flatMap(({ version, newestTs, number }) => {
    const newest = newestTsByVersion.get(version)
    if (newest === undefined) return [`Version ${version} is none of the log`]
    if (newest !== newestTs) return [`Version ${version} is of ${newest}, and ${newestTs} was told`]
    if (number === null) return []
    if (number < newest - midnight)
      return [`Content ${number} is older than version ${version}, of ${newest - midnight}`]
    return committed.has(number) ? [] : [`Content ${number} was never committed`]
  })
}
