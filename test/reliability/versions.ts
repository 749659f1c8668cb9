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
/** Vault whose marks have consecutive numbers as value and as time, so that data times identify versions. */
const countedVault = addressOf(1)
/** Vault that does not change. */
const unchangedVault = addressOf(2)

/** Options of the program `versions`. */
interface VersionsOptions {
  readonly homes: Homes
  /** Number of responses. */
  readonly responses: number
  readonly workers: number
  readonly reportProgress: ReportProgress
}

/** Version and content of a response. */
interface VersionedResponse {
  readonly version: string
  /** Data-Time: the time of the newest fact in the version. */
  readonly newestTs: number
  /** Value of the counted vault in the content; null for responses without it. */
  readonly number: number | null
}

/** Responses and counts of all readers. */
interface ReaderTotals {
  readonly checked: VersionedResponse[]
  readonly violations: string[]
  /** Newest data version that any reader has received. */
  newest: string
  notModified: number
  /** Number of 304 responses with a newer version than the cached response that they confirm. */
  notModifiedNewer: number
}

/** A request, with a function that finds the number in its response. */
interface CheckedRequest {
  readonly request: HttpRequest
  /** Returns the value of the counted vault in a body with status 200. */
  readonly numberFrom: (body: never) => number | null
}

const snapshotOf = (vault: string): string => `/vault/${vault}/snapshot`
const document = `{ _meta { version } vault(address: "${countedVault}") { valueUsd } }`
const aliased = `{ counted: vault(address: "${countedVault}") { valueUsd } vaults(first: 5) { nodes { address valueUsd } } }`
const json = { 'content-type': 'application/json' }

/** GraphQL data of the counted vault, by either of the two queries. */
type CountedData = { data: { vault: { valueUsd: number }; counted: { valueUsd: number } } }

const checkedRequests: readonly CheckedRequest[] = [
  {
    request: { method: 'GET', target: snapshotOf(countedVault) },
    numberFrom: (body: { valueUsd: number }) => body.valueUsd,
  },
  {
    request: { method: 'GET', target: `/graphql?query=${encodeURIComponent(aliased)}` },
    numberFrom: ({ data }: CountedData) => data.counted.valueUsd,
  },
  {
    request: { method: 'POST', target: '/graphql', headers: json, body: JSON.stringify({ query: document }) },
    numberFrom: ({ data }: CountedData) => data.vault.valueUsd,
  },
]

/**
 * Reads from a gateway that follows a feed, and checks data versions: the version of a response is not newer than its
 * content, versions never decrease on a connection, a 304 carries the newest version, and Min-Data-Version is honoured.
 */
export async function versions({ homes, responses, workers, reportProgress }: VersionsOptions): Promise<ProgramResult> {
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
  const isStopped = (): boolean => totals.checked.length >= responses || totals.violations.length > 0
  const writing = writeNumbers(feed, isStopped)
  await Promise.all(
    Array.from({ length: readers }, (_, index) => read(gateway.port, index, totals, isStopped, reportProgress)),
  )
  const marks = await writing
  const outcome = await gateway.stop()
  const violations = [...totals.violations, ...errorLogLines(outcome).map((line) => `The gateway logged ${line}`)]
  const databaseAfter = await home.open()
  const rows = await databaseAfter.query<LoggedCommit>({ name: 'commits_of_versions', text: commitLogSql }, [])
  await databaseAfter.close()
  violations.push(...commitLogViolations(totals.checked, rows))
  if (totals.notModifiedNewer === 0) violations.push('No 304 had a newer version than the cached response')
  const measurements = {
    responses: totals.checked.length,
    'marks, and their commits': `${marks}, ${rows.length}`,
    'responses 304, and those with a newer version': `${totals.notModified}, ${totals.notModifiedNewer}`,
    'wrong responses': violations.length,
  }
  return { measurements, violations }
}

/** Appends marks of the counted vault to the feed until stopped; returns the last number. */
async function writeNumbers(feed: string, isStopped: () => boolean): Promise<number> {
  let number = 1
  while (!isStopped()) {
    number++
    await appendFile(feed, feedText([mark(countedVault, midnight + number, String(number))]))
    await wait(markMilliseconds)
  }
  return number
}

/** Sends requests one after another on one connection, and checks the versions of the responses. */
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
    // A version that another reader received may not have reached the worker of this connection.
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
      if (seq < lastSeq) totals.violations.push(`version ${seq} after ${lastSeq} on one connection`)
      if (minVersion !== '' && seq < seqOf(minVersion))
        totals.violations.push(`version ${checked.version}, demanded ${minVersion}`)
      lastSeq = seq
      if (totals.newest === '' || seq > seqOf(totals.newest)) totals.newest = checked.version
      if (response.status === 304) totals.notModified++
      if (response.status === 304 && cached !== null && seq > cached.seq) totals.notModifiedNewer++
      if (selected === undefined && response.status === 200) cached = { etag: String(response.headers['etag']), seq }
      totals.checked.push(checked)
    }
    if (totals.checked.length % 1_000 === 0) reportProgress(`${totals.checked.length} responses`)
  }
  client.close()
}

/** Parses a response; returns an error message if it is incomplete or contradicts itself. */
function parseResponse(
  { status, headers, body }: TimedResponse,
  numberFrom: CheckedRequest['numberFrom'],
): VersionedResponse | string {
  const [version, time, age] = ['data-version', 'data-time', 'data-age'].map((name) => headers[name])
  if (status !== 200 && status !== 304) return `status ${status}: ${body.slice(0, 200)}`
  if (typeof version !== 'string' || typeof time !== 'string' || typeof age !== 'string')
    return 'lacks a version header'
  const content = status === 304 ? null : (JSON.parse(body) as { data?: { _meta?: { version: string } } })
  const inBody = content?.data?._meta?.version
  if (inBody !== undefined && inBody !== version) return `has version ${inBody} in its body, ${version} in its header`
  return { version, newestTs: Number(time), number: content === null ? null : numberFrom(content as never) }
}

/** A row of the commit log. */
interface LoggedCommit {
  readonly version: string
  readonly newestTs: number
}

const commitLogSql = 'select version, newest_ts::float8 as "newestTs" from commit_log order by seq'

/** Compares responses with the commit log: content must not be older than the newest fact of the version. */
function commitLogViolations(checked: readonly VersionedResponse[], rows: readonly LoggedCommit[]): string[] {
  const newestTsByVersion = new Map(rows.map(({ version, newestTs }) => [version, newestTs]))
  const committed = new Set(rows.map(({ newestTs }) => newestTs - midnight))
  return checked.flatMap(({ version, newestTs, number }) => {
    const newest = newestTsByVersion.get(version)
    if (newest === undefined) return [`version ${version} is not in the commit log`]
    if (newest !== newestTs) return [`version ${version} has data time ${newest}, response ${newestTs}`]
    if (number === null) return []
    if (number < newest - midnight)
      return [`content ${number} is older than version ${version}, whose number is ${newest - midnight}`]
    return committed.has(number) ? [] : [`content ${number} was never committed`]
  })
}
