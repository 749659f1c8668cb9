import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { ChangeListener } from '../../src/database/commits/change-listener.ts'
import { notifyAll } from '../../src/cli/gateway.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { gatewayOn } from '../support/gateway.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import type { Homes } from '../support/home.ts'
import { serverOf } from '../support/server.ts'
import { addressOf, apply, deposit, mark, midnight, opened, strategy } from '../support/world.ts'
import { startNginx } from './nginx.ts'
import type { Finding, Say } from './show.ts'

const clients = 8
const encodings = ['br', 'gzip, deflate, br', 'gzip', 'identity']
/** One in so many requests demands the newest version, which an edge does not have. */
const demandEvery = 100
const query = 'query Vault($address: Address!) { vault(address: $address) { valueUsd positions { id } updatedAt } }'
const persistedQuery = { version: 1, sha256Hash: createHash('sha256').update(query).digest('hex') }
/** Pause between two marks. */
const markMilliseconds = 50
interface EdgeOptions {
  readonly homes: Homes
  readonly vaults: number
  readonly edgeSeconds: number
  /** Time of the load. */
  readonly seconds: number
  readonly say: Say
}

interface Told {
  readonly status: number
  /** Whether nginx had the answer, and in what condition. */
  readonly cacheStatus: string
  /** Id of the request that the gateway made the answer for. */
  readonly id: string
  readonly seq: number
  readonly dataAgeSeconds: number
}

/**
 * Asks a gateway through nginx, while vaults are marked: how many requests reach the gateway, how old answers are, and
 * whether they are served while the gateway is away.
 */
export async function edge({ homes, vaults, edgeSeconds, seconds, say }: EdgeOptions): Promise<Finding> {
  const home = await homes.create()
  const database = await home.open()
  const addresses = Array.from({ length: vaults }, (_, each) => addressOf(each + 1))
  await apply(database, [
    strategy('calm'),
    ...addresses.flatMap((vault) => [opened(vault, 'calm'), deposit(vault, midnight, '1000')]),
  ])
  const history = new History()
  const cache = createResponseCache(32_000_000)
  const versions = new DataVersions()
  const { app } = gatewayOn(database, { cache, versions, edgeSeconds })
  const stopListening = await database.listen(both(notifyAll(cache, versions, app.live), history))
  await versions.waitUntil(() => versions.currentState().version !== null, 10_000)
  let server = await serverOf(app)
  const nginx = await startNginx(server.port)
  const flaws: string[] = []
  try {
    const ask = asking(nginx.origin)
    await ask.persist()
    const asked = requestsOf(addresses)
    const load = loadOf(ask, asked, history, edgeSeconds)
    const begunAt = performance.now()
    const loading = load.run(seconds, say)
    const marked = await markWhile(loading, addresses, (fact) => apply(database, [fact]))
    const told = await loading
    flaws.push(...load.flaws)
    const reached = new Set(told.map(({ id }) => id)).size
    // One for each stored answer while it is fresh, by a clock of whole seconds, and those that demand a version.
    const periods = 1 + (performance.now() - begunAt) / 1_000 / (edgeSeconds - 1)
    const most = asked.length * encodings.length * periods + told.length / demandEvery
    if (reached > most) flaws.push(`${reached} of ${told.length} requests reached the gateway`)
    await Promise.all(asked.map((path) => ask.get(path, encodings[0] ?? '')))
    say('The gateway is away')
    await server.close()
    await wait(edgeSeconds * 1_000)
    const stale = await Promise.all(asked.map((path) => ask.get(path, encodings[0] ?? '')))
    const unserved = stale.filter(({ status, cacheStatus }) => status !== 200 || cacheStatus !== 'STALE')
    if (unserved.length > 0)
      flaws.push(`${unserved.length} of ${stale.length} are not served while the gateway is away`)
    server = await serverOf(app, {}, { port: server.port })
    const again = await Promise.all(asked.map((path) => ask.get(path, encodings[0] ?? '')))
    const old = again.filter(({ status, seq }) => status !== 200 || seq < history.newest)
    if (old.length > 0) flaws.push(`${old.length} of ${again.length} are not new when the gateway is back`)
    return {
      figures: {
        requests: told.length,
        'different requests': asked.length,
        'that reached the gateway': reached,
        'share that did not': Number((1 - reached / told.length).toFixed(4)),
        ...load.ages(),
        'commits meanwhile': marked,
        'answers while the gateway was away': stale.length,
      },
      flaws,
    }
  } finally {
    await nginx.remove()
    await server.close()
    await stopListening()
    await database.close()
  }
}

/** When each commit was heard of, in milliseconds. */
class History {
  readonly #at: number[] = []
  newestVersion = ''

  get newest(): number {
    return this.#at.length - 1
  }

  committed({ version }: { readonly version: string }): void {
    const seq = Number.parseInt(version)
    this.newestVersion = version
    for (let each = this.#at.length; each <= seq; each++) this.#at.push(performance.now())
  }

  /** Age of an answer at a time: since when a later version was known. */
  ageOf(seq: number, at: number): number {
    return Math.max(0, at - (this.#at[seq + 1] ?? at))
  }
}

/** Marks one vault after the other until work has ended. Returns how many marks there were. */
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

function both(first: ChangeListener, history: History): ChangeListener {
  return {
    ...first,
    committed: (commit) => {
      first.committed(commit)
      history.committed(commit)
    },
  }
}

/** Paths of the load, REST and persisted GraphQL, where lists are asked for as CSV too. */
function requestsOf(addresses: readonly string[]): string[] {
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

function asking(origin: string) {
  async function get(path: string, encoding: string, headers: Readonly<Record<string, string>> = {}): Promise<Told> {
    const accept = path.startsWith('/graphql') ? 'application/graphql-response+json' : '*/*'
    const response = await fetch(origin + path, { headers: { accept, 'accept-encoding': encoding, ...headers } })
    await response.arrayBuffer()
    const told = (name: string): string => response.headers.get(name) ?? ''
    return {
      status: response.status,
      cacheStatus: told('x-cache-status'),
      id: told('x-request-id'),
      seq: Number.parseInt(told('data-version')),
      dataAgeSeconds: Number(told('data-age')),
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

function loadOf(ask: ReturnType<typeof asking>, asked: readonly string[], history: History, edgeSeconds: number) {
  const flaws: string[] = []
  let oldest = 0
  let count = 0
  let slowest = 0

  /** An answer is on its way to nginx before its seconds begin. */
  function checkAges(): void {
    if (oldest > edgeSeconds + slowest) flaws.push(`an answer was ${oldest.toFixed(2)} s old`)
  }

  function check(path: string, at: number, told: Told, demanded: number): void {
    const age = history.ageOf(told.seq, at) / 1_000 - told.dataAgeSeconds
    oldest = Math.max(oldest, age)
    if (told.status !== 200) flaws.push(`${path} is ${told.status}, ${told.cacheStatus}`)
    if (told.seq < demanded) flaws.push(`${path} is of ${told.seq}, where ${demanded} was demanded`)
  }

  async function client(number: number, until: number, told: Told[], say: Say): Promise<void> {
    while (performance.now() < until) {
      // Few paths are asked for often, and many seldom.
      const path = asked[Math.floor(Math.random() ** 2 * asked.length)] ?? ''
      const isDemand = ++count % demandEvery === 0
      const demanded = isDemand ? { 'min-data-version': history.newestVersion } : null
      const at = performance.now()
      const answer = await ask.get(path, encodings[number % encodings.length] ?? '', demanded ?? {})
      if (answer.cacheStatus !== 'HIT') slowest = Math.max(slowest, (performance.now() - at) / 1_000)
      check(path, at, answer, Number.parseInt(demanded?.['min-data-version'] ?? '0'))
      told.push(answer)
      if (count % 1_000 === 0) say(`${count} requests`)
    }
  }

  return {
    flaws,
    async run(seconds: number, say: Say): Promise<Told[]> {
      const told: Told[] = []
      const until = performance.now() + seconds * 1_000
      await Promise.all(Array.from({ length: clients }, (_, number) => client(number, until, told, say)))
      checkAges()
      return told
    },
    ages: () => ({
      'oldest, s': Number(oldest.toFixed(2)),
      'slowest answer of the gateway, s': Number(slowest.toFixed(2)),
    }),
  }
}
