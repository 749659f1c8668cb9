import { setTimeout as wait } from 'node:timers/promises'
import { seqOf } from '../../src/domain/identity/data-version.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { type Answered, type Asked, type Client, clientOf } from './client.ts'
import type { CommitWatch } from './commit-watch.ts'
import { History, type ToldVault } from './history.ts'

const pauseMilliseconds = 10
const fields = 'valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt'

interface ClusterReadersOptions {
  readonly ports: readonly number[]
  readonly facts: readonly FactInput[]
  readonly count: number
  readonly watch: CommitWatch
}

/** A 503, by the time of the request and the answer in milliseconds of performance.now(). */
interface Refused {
  readonly gateway: number
  readonly from: number
  readonly to: number
  readonly code: string
}

export interface ClusterReaders {
  readonly answers: number
  /** Requests without an answer just after the machine, or all these processes, had stood still: connections are closed then. */
  readonly unanswered: number
  readonly refused: readonly Refused[]
  /** Age of the oldest data that was answered, by the commits of the primary. */
  oldestSeconds(): number
  slowestMilliseconds(): number
  /** @returns errors of the answers */
  stop(): Promise<string[]>
}

/** The newest state that one client was told of. */
interface Told {
  version: string
  dataTime: number
}

/** Clients that ask several gateways in turn, each for nothing older than it was told before by any of them. */
export function startClusterReaders({ ports, facts, count, watch }: ClusterReadersOptions): ClusterReaders {
  const history = new History(facts)
  const times = timesOf(facts)
  const clients = ports.map((port) => clientOf(port, count))
  const flaws: string[] = []
  const refused: Refused[] = []
  const most = { age: 0, milliseconds: 0 }
  let answers = 0
  const stillness = watchStillness()
  let unanswered = 0
  let isOver = false

  async function ask(gateway: number, client: Client, told: Told): Promise<void> {
    const vault = oneOf(history.vaults)
    const [asked, vaultIn] = oneOf(questions)(vault)
    const demanded = { ...told }
    const from = performance.now()
    const headers = { ...asked.headers, ...(told.version !== '' && { 'min-data-version': told.version }) }
    const answered = await client.ask({ ...asked, headers })
    most.milliseconds = Math.max(most.milliseconds, answered.milliseconds)
    if (answered.status === 503) {
      refused.push({ gateway, from, to: performance.now(), code: codeOf(answered) })
      return
    }
    const found = answered.status === 200 ? toldBy(answered) : null
    if (found === null) {
      flaws.push(`Gateway ${gateway} answered ${answered.status} ${answered.body.slice(0, 200)}`)
      return
    }
    answers++
    const state = vaultIn(JSON.parse(answered.body) as never)
    most.age = Math.max(most.age, watch.ageOf(found.seq, from))
    flaws.push(
      ...history.flawsOfVault(vault, state, new Map()).map((flaw) => `Gateway ${gateway}: ${flaw}`),
      ...backwards(gateway, found, state.updatedAt, demanded, newestAt(times.get(vault) ?? [], demanded.dataTime)),
      // The header is in whole seconds.
      ...tooOld(gateway, found, watch.seqAt(from - (found.ageSeconds + 1) * 1_000)),
    )
    if (found.seq > seqOf(told.version)) told.version = found.version
    told.dataTime = Math.max(told.dataTime, found.dataTime)
  }

  const running = Promise.all(
    Array.from({ length: count }, async () => {
      const told: Told = { version: '', dataTime: 0 }
      while (!isOver) {
        const gateway = Math.floor(Math.random() * clients.length)
        await ask(gateway + 1, clients[gateway] as Client, told).catch((error: unknown) => {
          if (stillness.wasJustNow()) return void unanswered++
          flaws.push(`Gateway ${gateway + 1} did not answer: ${(error as Error).message}`)
        })
        await wait(pauseMilliseconds)
      }
    }),
  )
  return {
    get answers() {
      return answers
    },
    get unanswered() {
      return unanswered
    },
    refused,
    oldestSeconds: () => most.age / 1_000,
    slowestMilliseconds: () => most.milliseconds,
    async stop() {
      isOver = true
      await running
      stillness.stop()
      for (const client of clients) client.close()
      return flaws
    },
  }
}

const beatMilliseconds = 200

/** Notices that this process did not run for seconds. */
function watchStillness(): { wasJustNow(): boolean; stop(): void } {
  let beatAt = performance.now()
  let stillAt = -Infinity
  const look = (): void => {
    if (performance.now() - beatAt > 5_000) stillAt = performance.now()
    beatAt = performance.now()
  }
  const beat = setInterval(look, beatMilliseconds)
  return {
    wasJustNow() {
      look()
      return performance.now() - stillAt < 5_000
    },
    stop: () => clearInterval(beat),
  }
}

/** Times of the facts that change a vault, in order. */
function timesOf(facts: readonly FactInput[]): ReadonlyMap<string, number[]> {
  const times = new Map<string, number[]>()
  for (const fact of facts) {
    if (!('vault' in fact)) continue
    const found = times.get(fact.vault) ?? []
    found.push(fact.ts)
    times.set(fact.vault, found)
  }
  return times
}

/** The last time that is not after a moment. */
function newestAt(times: readonly number[], moment: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] ?? 0) <= moment) low = middle + 1
    else high = middle
  }
  return times[low - 1] ?? 0
}

interface Versioned extends Told {
  readonly seq: number
  readonly ageSeconds: number
}

function toldBy({ headers }: Answered): Versioned | null {
  const [version, time, age] = ['data-version', 'data-time', 'data-age'].map((name) => headers[name])
  if (typeof version !== 'string' || age === undefined) return null
  return { version, seq: seqOf(version), dataTime: Number(time), ageSeconds: Number(age) }
}

/** Ways in which an answer is older than its client was told before. */
function backwards(
  gateway: number,
  { version, seq, dataTime }: Versioned,
  updatedAt: number,
  demanded: Told,
  leastUpdatedAt: number,
): string[] {
  return [
    ...(seq < seqOf(demanded.version) ? [`Gateway ${gateway} answered ${version} after ${demanded.version}`] : []),
    ...(dataTime < demanded.dataTime
      ? [`Gateway ${gateway} told the time ${dataTime} after ${demanded.dataTime}`]
      : []),
    ...(updatedAt < leastUpdatedAt
      ? [`Gateway ${gateway} answered a state of ${updatedAt} after ${leastUpdatedAt}`]
      : []),
  ]
}

function tooOld(gateway: number, { seq, ageSeconds }: Versioned, least: number): string[] {
  return seq >= least
    ? []
    : [`Gateway ${gateway} answered commit ${seq} where ${least} was there ${ageSeconds} s before`]
}

const questions: readonly ((vault: string) => readonly [asked: Asked, vaultIn: (body: never) => ToldVault])[] = [
  (vault) => [{ method: 'GET', target: `/vault/${vault}/snapshot` }, (body: ToldVault) => body],
  (vault) => [
    {
      method: 'POST',
      target: '/graphql',
      headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
      body: JSON.stringify({ query: `{ vault(address: "${vault}") { ${fields} events(first: 2) { nodes { ts } } } }` }),
    },
    ({ data }: { data: { vault: ToldVault } }) => data.vault,
  ],
]

function codeOf({ body }: Answered): string {
  const told = JSON.parse(body) as { type?: string; errors?: { extensions?: { code?: string } }[] }
  return told.errors?.[0]?.extensions?.code ?? told.type ?? 'without a code'
}

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}
