import { setTimeout as wait } from 'node:timers/promises'
import { seqOf } from '../../src/domain/identity/data-version.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { type Client, createClient, graphqlRequest, type HttpRequest, type TimedResponse } from './client.ts'
import type { CommitWatcher } from './commit-watcher.ts'
import { FeedHistory, type VaultResponse } from './feed-history.ts'
import { pickRandom } from './readers.ts'

const pauseMilliseconds = 10
const fields = 'valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt'

/** Options of the clients; `count` is the number of clients. */
interface ClusterReadersOptions {
  readonly ports: readonly number[]
  readonly facts: readonly FactInput[]
  readonly count: number
  readonly commitWatcher: CommitWatcher
}

/** A response with status 503; times are milliseconds of performance.now(). */
interface RefusedRequest {
  readonly gateway: number
  readonly sentAt: number
  readonly receivedAt: number
  /** GraphQL error code, or problem type of REST. */
  readonly code: string
}

/** Clients that read from all gateways of a cluster until they are stopped. */
export interface ClusterReaders {
  /** Number of responses that were checked. */
  readonly responses: number
  /** Requests that failed just after this process had been paused, which lets connections time out. */
  readonly unanswered: number
  readonly refused: readonly RefusedRequest[]
  /** Maximum age of the data in a response, by the commit times of the primary. */
  oldestSeconds(): number
  slowestMilliseconds(): number
  /** Stops the clients. @returns the violations that were found */
  stop(): Promise<string[]>
}

/** Newest data version and data time that a client has received. */
interface ClientState {
  version: string
  dataTime: number
}

/**
 * Starts clients that read from random gateways, and demand the newest data version they have received from any of
 * them.
 */
export function startClusterReaders({ ports, facts, count, commitWatcher }: ClusterReadersOptions): ClusterReaders {
  const history = new FeedHistory(facts)
  const times = factTimes(facts)
  const clients = ports.map((port) => createClient(port, count))
  const violations: string[] = []
  const refused: RefusedRequest[] = []
  const maxima = { age: 0, milliseconds: 0 }
  let responses = 0
  const pauseDetector = startPauseDetector()
  let unanswered = 0
  let isStopped = false

  async function sendRequest(gateway: number, client: Client, clientState: ClientState): Promise<void> {
    const vault = pickRandom(history.vaults)
    const [request, vaultFrom] = pickRandom(requests)(vault)
    const demanded = { ...clientState }
    const sentAt = performance.now()
    const headers = {
      ...request.headers,
      ...(clientState.version !== '' && { 'min-data-version': clientState.version }),
    }
    const response = await client.send({ ...request, headers })
    maxima.milliseconds = Math.max(maxima.milliseconds, response.milliseconds)
    if (response.status === 503) {
      refused.push({ gateway, sentAt, receivedAt: performance.now(), code: errorCode(response) })
      return
    }
    const versionHeaders = response.status === 200 ? versionHeadersOf(response) : null
    if (versionHeaders === null) {
      violations.push(`Gateway ${gateway}: status ${response.status} ${response.body.slice(0, 200)}`)
      return
    }
    responses++
    const state = vaultFrom(JSON.parse(response.body) as never)
    maxima.age = Math.max(maxima.age, commitWatcher.ageMilliseconds(versionHeaders.seq, sentAt))
    violations.push(
      ...history.vaultViolations(vault, state, new Map()).map((violation) => `Gateway ${gateway}: ${violation}`),
      ...regressionViolations(
        gateway,
        versionHeaders,
        state.updatedAt,
        demanded,
        latestTimeUntil(times.get(vault) ?? [], demanded.dataTime),
      ),
      // Data-Age is rounded to seconds.
      ...stalenessViolations(
        gateway,
        versionHeaders,
        commitWatcher.seqAt(sentAt - (versionHeaders.ageSeconds + 1) * 1_000),
      ),
    )
    if (versionHeaders.seq > seqOf(clientState.version)) clientState.version = versionHeaders.version
    clientState.dataTime = Math.max(clientState.dataTime, versionHeaders.dataTime)
  }

  const running = Promise.all(
    Array.from({ length: count }, async () => {
      const clientState: ClientState = { version: '', dataTime: 0 }
      while (!isStopped) {
        const gateway = Math.floor(Math.random() * clients.length)
        await sendRequest(gateway + 1, clients[gateway] as Client, clientState).catch((error: unknown) => {
          if (pauseDetector.pausedRecently()) return void unanswered++
          violations.push(`Gateway ${gateway + 1}: no response: ${(error as Error).message}`)
        })
        await wait(pauseMilliseconds)
      }
    }),
  )
  return {
    get responses() {
      return responses
    },
    get unanswered() {
      return unanswered
    },
    refused,
    oldestSeconds: () => maxima.age / 1_000,
    slowestMilliseconds: () => maxima.milliseconds,
    async stop() {
      isStopped = true
      await running
      pauseDetector.stop()
      for (const client of clients) client.close()
      return violations
    },
  }
}

const tickMilliseconds = 200

/** Detects that this process has not run for more than 5 s, such as when the machine was suspended. */
function startPauseDetector(): { pausedRecently(): boolean; stop(): void } {
  let lastTickAt = performance.now()
  let pausedAt = -Infinity
  const check = (): void => {
    if (performance.now() - lastTickAt > 5_000) pausedAt = performance.now()
    lastTickAt = performance.now()
  }
  const timer = setInterval(check, tickMilliseconds)
  return {
    pausedRecently() {
      check()
      return performance.now() - pausedAt < 5_000
    },
    stop: () => clearInterval(timer),
  }
}

/** Returns the times of the facts of each vault, in ascending order. */
function factTimes(facts: readonly FactInput[]): ReadonlyMap<string, number[]> {
  const times = new Map<string, number[]>()
  for (const fact of facts) {
    if (!('vault' in fact)) continue
    const ofVault = times.get(fact.vault) ?? []
    ofVault.push(fact.ts)
    times.set(fact.vault, ofVault)
  }
  return times
}

/** Returns the last of ascending times that is not after a given one, by binary search; 0 if there is none. */
function latestTimeUntil(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] ?? 0) <= time) low = middle + 1
    else high = middle
  }
  return times[low - 1] ?? 0
}

/** Data version, time and age from the headers of a response. */
interface VersionHeaders extends ClientState {
  readonly seq: number
  readonly ageSeconds: number
}

/** Returns the version headers of a response; null if they are missing. */
function versionHeadersOf({ headers }: TimedResponse): VersionHeaders | null {
  const [version, time, age] = ['data-version', 'data-time', 'data-age'].map((name) => headers[name])
  if (typeof version !== 'string' || age === undefined) return null
  return { version, seq: seqOf(version), dataTime: Number(time), ageSeconds: Number(age) }
}

/** Returns the ways in which a response is older than the data that its client had received before. */
function regressionViolations(
  gateway: number,
  { version, seq, dataTime }: VersionHeaders,
  updatedAt: number,
  demanded: ClientState,
  minUpdatedAt: number,
): string[] {
  return [
    ...(seq < seqOf(demanded.version) ? [`Gateway ${gateway}: version ${version} after ${demanded.version}`] : []),
    ...(dataTime < demanded.dataTime ? [`Gateway ${gateway}: data time ${dataTime} after ${demanded.dataTime}`] : []),
    ...(updatedAt < minUpdatedAt ? [`Gateway ${gateway}: state of ${updatedAt} after ${minUpdatedAt}`] : []),
  ]
}

/** Returns an error if the data is older than `Data-Age` says. */
function stalenessViolations(gateway: number, { seq, ageSeconds }: VersionHeaders, minSeq: number): string[] {
  return seq >= minSeq
    ? []
    : [`Gateway ${gateway}: commit ${seq} with Data-Age ${ageSeconds} s, at which time commit ${minSeq} existed`]
}

const requests: readonly ((
  vault: string,
) => readonly [request: HttpRequest, vaultFrom: (body: never) => VaultResponse])[] = [
  (vault) => [{ method: 'GET', target: `/vault/${vault}/snapshot` }, (body: VaultResponse) => body],
  (vault) => [
    graphqlRequest(`{ vault(address: "${vault}") { ${fields} events(first: 2) { nodes { ts } } } }`),
    ({ data }: { data: { vault: VaultResponse } }) => data.vault,
  ],
]

/** Returns the GraphQL error code, or the problem type, of a response. */
function errorCode({ body }: TimedResponse): string {
  const problem = JSON.parse(body) as { type?: string; errors?: { extensions?: { code?: string } }[] }
  return problem.errors?.[0]?.extensions?.code ?? problem.type ?? 'without a code'
}
