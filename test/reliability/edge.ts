import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { notifyAll } from '../../src/cli/gateway.ts'
import type { ChangeListener } from '../../src/database/commits/change-listener.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { gatewayOn } from '../support/gateway.ts'
import type { Homes } from '../support/home.ts'
import { serverOf } from '../support/server.ts'
import { addressOf, apply, deposit, mark, midnight, opened, strategy } from '../support/world.ts'
import { startNginx } from './nginx.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

const clients = 8
const encodings = ['br', 'gzip, deflate, br', 'gzip', 'identity']
/** One request in this many demands the newest data version, which nginx passes to the gateway. */
const minVersionEvery = 100
const query = 'query Vault($address: Address!) { vault(address: $address) { valueUsd positions { id } updatedAt } }'
const persistedQuery = { version: 1, sha256Hash: createHash('sha256').update(query).digest('hex') }
/** Interval between two marks. */
const markMilliseconds = 50

/** Options of the program `edge`. */
interface EdgeOptions {
  readonly homes: Homes
  readonly vaults: number
  /** Value of EDGE_SECONDS, the time for which nginx may serve a response. */
  readonly edgeSeconds: number
  /** Duration of the load. */
  readonly seconds: number
  readonly reportProgress: ReportProgress
}

/** Headers of a response of nginx. */
interface EdgeResponse {
  readonly status: number
  /** State of the response in nginx's cache, such as HIT or STALE. */
  readonly cacheStatus: string
  /** Id of the request for which the gateway produced the response. */
  readonly id: string
  readonly seq: number
  readonly dataAgeSeconds: number
}

/**
 * Sends requests to a gateway through nginx, while vaults are marked: measures the number of requests that reach the
 * gateway and the age of responses, and checks that nginx serves them while the gateway is stopped.
 */
export async function edge({
  homes,
  vaults,
  edgeSeconds,
  seconds,
  reportProgress,
}: EdgeOptions): Promise<ProgramResult> {
  const home = await homes.create()
  const database = await home.open()
  const addresses = Array.from({ length: vaults }, (_, each) => addressOf(each + 1))
  await apply(database, [
    strategy('calm'),
    ...addresses.flatMap((vault) => [opened(vault, 'calm'), deposit(vault, midnight, '1000')]),
  ])
  const commitTimes = new CommitTimes()
  const cache = createResponseCache(32_000_000)
  const versions = new DataVersions()
  const { app } = gatewayOn(database, { cache, versions, edgeSeconds })
  const { stop: stopListening } = await database.listen(notifyBoth(notifyAll(cache, versions, app.live), commitTimes))
  await versions.waitUntil(() => versions.currentState().version !== null, 10_000)
  let server = await serverOf(app)
  const nginx = await startNginx(server.port)
  const violations: string[] = []
  try {
    const edgeClient = createEdgeClient(nginx.origin)
    await edgeClient.persist()
    const paths = loadPaths(addresses)
    const load = createLoad(edgeClient, paths, commitTimes, edgeSeconds)
    const startedAt = performance.now()
    const loading = load.run(seconds, reportProgress)
    const marks = await markWhile(loading, addresses, (fact) => apply(database, [fact]))
    const responses = await loading
    violations.push(...load.violations)
    const reached = new Set(responses.map(({ id }) => id)).size
    // One request for each stored response per period of freshness, in whole seconds, and those that demand a version.
    const periods = 1 + (performance.now() - startedAt) / 1_000 / (edgeSeconds - 1)
    const maxReached = paths.length * encodings.length * periods + responses.length / minVersionEvery
    if (reached > maxReached) violations.push(`${reached} of ${responses.length} requests reached the gateway`)
    await Promise.all(paths.map((path) => edgeClient.get(path, encodings[0] ?? '')))
    reportProgress('the gateway is stopped')
    await server.close()
    await wait(edgeSeconds * 1_000)
    const stale = await Promise.all(paths.map((path) => edgeClient.get(path, encodings[0] ?? '')))
    const unserved = stale.filter(({ status, cacheStatus }) => status !== 200 || cacheStatus !== 'STALE')
    if (unserved.length > 0)
      violations.push(`${unserved.length} of ${stale.length} are not served while the gateway is stopped`)
    server = await serverOf(app, {}, { port: server.port })
    const afterRestart = await Promise.all(paths.map((path) => edgeClient.get(path, encodings[0] ?? '')))
    const outdated = afterRestart.filter(({ status, seq }) => status !== 200 || seq < commitTimes.newestSeq)
    if (outdated.length > 0)
      violations.push(`${outdated.length} of ${afterRestart.length} are outdated after the restart of the gateway`)
    return {
      measurements: {
        requests: responses.length,
        'different requests': paths.length,
        'requests that reached the gateway': reached,
        'share of requests that did not': Number((1 - reached / responses.length).toFixed(4)),
        ...load.ages(),
        'commits during the load': marks,
        'responses while the gateway was stopped': stale.length,
      },
      violations,
    }
  } finally {
    await nginx.remove()
    await server.close()
    await stopListening()
    await database.close()
  }
}

/** Times of commits by their numbers, in milliseconds of performance.now(). */
class CommitTimes {
  readonly #at: number[] = []
  newestVersion = ''

  get newestSeq(): number {
    return this.#at.length - 1
  }

  committed({ version }: { readonly version: string }): void {
    const seq = Number.parseInt(version)
    this.newestVersion = version
    for (let each = this.#at.length; each <= seq; each++) this.#at.push(performance.now())
  }

  /** Returns how long before a time the commit after `seq` had been notified; 0 if it had not. */
  ageMilliseconds(seq: number, at: number): number {
    return Math.max(0, at - (this.#at[seq + 1] ?? at))
  }
}

/** Marks the vaults in turn until some work has completed, and returns the number of marks. */
async function markWhile(
  work: Promise<unknown>,
  addresses: readonly string[],
  save: (fact: FactInput) => Promise<unknown>,
): Promise<number> {
  const state = { isOver: false }
  const end = (): void => void (state.isOver = true)
  work.then(end, end)
  let marks = 0
  for (; !state.isOver; marks++) {
    const vault = addresses[marks % addresses.length] ?? ''
    await save(mark(vault, midnight + 60 + marks, `${1_000 + marks}`))
    await wait(markMilliseconds)
  }
  return marks
}

/** Returns a listener that also records the times of commits. */
function notifyBoth(first: ChangeListener, commitTimes: CommitTimes): ChangeListener {
  return {
    ...first,
    committed: (commit) => {
      first.committed(commit)
      commitTimes.committed(commit)
    },
  }
}

/** Returns the paths of the load: REST, and a persisted GraphQL query. */
function loadPaths(addresses: readonly string[]): string[] {
  const extensions = encodeURIComponent(JSON.stringify({ persistedQuery }))
  const graphql = (address: string): string =>
    `/graphql?variables=${encodeURIComponent(JSON.stringify({ address }))}&extensions=${extensions}`
  return [
    ...addresses.flatMap((address) => [
      ...['snapshot', 'equity?points=50', 'events'].map((name) => `/vault/${address}/${name}`),
      graphql(address),
    ]),
    '/strategies',
    '/universe',
  ]
}

/** Creates a client of nginx, with a method that stores the persisted query. */
function createEdgeClient(origin: string) {
  async function get(
    path: string,
    encoding: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EdgeResponse> {
    const accept = path.startsWith('/graphql') ? 'application/graphql-response+json' : '*/*'
    const response = await fetch(origin + path, { headers: { accept, 'accept-encoding': encoding, ...headers } })
    await response.arrayBuffer()
    const header = (name: string): string => response.headers.get(name) ?? ''
    return {
      status: response.status,
      cacheStatus: header('x-cache-status'),
      id: header('x-request-id'),
      seq: Number.parseInt(header('data-version')),
      dataAgeSeconds: Number(header('data-age')),
    }
  }

  async function persist(): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const variables = { address: addressOf(1) }
    const body = JSON.stringify({ query, variables, extensions: { persistedQuery } })
    await fetch(`${origin}/graphql`, { method: 'POST', headers, body })
  }
  return { get, persist }
}

/** Creates a load of several clients, which check status, age and version of each response. */
function createLoad(
  edgeClient: ReturnType<typeof createEdgeClient>,
  paths: readonly string[],
  commitTimes: CommitTimes,
  edgeSeconds: number,
) {
  const violations: string[] = []
  let oldest = 0
  let count = 0
  let slowest = 0

  /**
   * Adds a violation if a response was older than permitted. The response time of the gateway is added to the limit,
   * since nginx counts freshness from the arrival of a response.
   */
  function checkAges(): void {
    if (oldest > edgeSeconds + slowest) violations.push(`a response was ${oldest.toFixed(2)} s old`)
  }

  function check(path: string, sentAt: number, response: EdgeResponse, demandedSeq: number): void {
    const ageSeconds = commitTimes.ageMilliseconds(response.seq, sentAt) / 1_000 - response.dataAgeSeconds
    oldest = Math.max(oldest, ageSeconds)
    if (response.status !== 200) violations.push(`${path}: status ${response.status}, ${response.cacheStatus}`)
    if (response.seq < demandedSeq) violations.push(`${path}: version ${response.seq}, demanded ${demandedSeq}`)
  }

  async function client(
    number: number,
    deadline: number,
    responses: EdgeResponse[],
    reportProgress: ReportProgress,
  ): Promise<void> {
    while (performance.now() < deadline) {
      // Few paths are requested often, many rarely.
      const path = paths[Math.floor(Math.random() ** 2 * paths.length)] ?? ''
      const isDemanding = ++count % minVersionEvery === 0
      const demanded = isDemanding ? { 'min-data-version': commitTimes.newestVersion } : null
      const sentAt = performance.now()
      const response = await edgeClient.get(path, encodings[number % encodings.length] ?? '', demanded ?? {})
      if (response.cacheStatus !== 'HIT') slowest = Math.max(slowest, (performance.now() - sentAt) / 1_000)
      check(path, sentAt, response, Number.parseInt(demanded?.['min-data-version'] ?? '0'))
      responses.push(response)
      if (count % 1_000 === 0) reportProgress(`${count} requests`)
    }
  }

  return {
    violations,
    async run(seconds: number, reportProgress: ReportProgress): Promise<EdgeResponse[]> {
      const responses: EdgeResponse[] = []
      const deadline = performance.now() + seconds * 1_000
      await Promise.all(
        Array.from({ length: clients }, (_, number) => client(number, deadline, responses, reportProgress)),
      )
      checkAges()
      return responses
    },
    ages: () => ({
      'oldest response, s': Number(oldest.toFixed(2)),
      'slowest response of the gateway, s': Number(slowest.toFixed(2)),
    }),
  }
}
