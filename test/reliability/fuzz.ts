import fc from 'fast-check'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { openapiViolations } from '../support/openapi-conformance.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import type { Homes } from '../support/home.ts'
import { rawConnection } from '../support/raw.ts'
import { apply, midnight } from '../support/world.ts'
import { type Answered, type Asked, type Client, clientOf, eachOf } from './client.ts'
import { failuresIn, type GatewayProcess, type Reading, startGateway } from './gateway.ts'
import { malformed } from './malformed.ts'
import { requestsFor } from './requests.ts'
import type { Finding, Say } from './show.ts'

const origin = 'http://gateway.test'
const atOnce = 16
const batch = 500
const deadlineSeconds = 10
/** A share of the requests after which caches are filled and code is compiled. */
const warmUp = 0.2
/** A cache that is full after the warm-up: what grows then is held for good. */
const smallCache = { CACHE_MEGABYTES: '2' }
/** As many requests as it takes to fill the caches; fewer say nothing of what is held for good. */
const tellingRequests = 20_000
const maxGrowth = 1.2
const maxShown = 1_000

interface FuzzOptions {
  readonly homes: Homes
  readonly requests: number
  readonly seed: number
  readonly say: Say
}

/** Input of the fuzzer: an HTTP request, or bytes that may be none. */
type Sent = Asked | { readonly bytes: string }

/** Sends a gateway any requests at all, and looks at each answer, at its log and at what it holds in the end. */
export async function fuzz({ homes, requests, seed, say }: FuzzOptions): Promise<Finding> {
  const home = await homes.create()
  const database = await home.open()
  await apply(database, everything)
  await apply(database, demoFacts(midnight))
  await database.close()
  const gateway = await startGateway([], { ...home.env, ...smallCache })
  const round = new Round(gateway.port)
  await loadPage(gateway.port)
  let warm: Reading | undefined
  for (let sent = 0; sent < requests; sent += batch) {
    if (warm === undefined && sent >= requests * warmUp) warm = await gateway.read()
    await round.send(fc.sample(anything, { numRuns: Math.min(batch, requests - sent), seed: seed + sent }))
    say(`${round.sent} requests, ${round.flaws.length} flaws`)
  }
  round.close()
  return findingOf(round, gateway, warm ?? (await gateway.read()), seed)
}

/** GraphiQL's page takes its memory when it is first asked for, which may be late. */
async function loadPage(port: number): Promise<void> {
  const client = clientOf(port, 1)
  const { status } = await client.ask({ method: 'GET', target: '/graphql', headers: { accept: 'text/html' } })
  client.close()
  if (status !== 200) throw new Error(`GraphiQL's page is answered ${status}`)
}

async function findingOf(round: Round, gateway: GatewayProcess, warm: Reading, seed: number): Promise<Finding> {
  const end = await gateway.read()
  const outcome = await gateway.stop()
  const heapGrowth = end.heapBytes / warm.heapBytes
  const failures = failuresIn(outcome)
  const flaws = [
    ...round.flaws,
    ...failures.map((line) => `The gateway logged ${line}`),
    ...(outcome.status === 0 ? [] : [`The gateway ended with ${outcome.status ?? String(outcome.signal)}`]),
    ...(round.sent >= tellingRequests && heapGrowth > maxGrowth
      ? [`The heap grew to ${heapGrowth.toFixed(2)} of what it was`]
      : []),
  ]
  const statuses = Object.entries(round.statuses).map(([status, count]) => `${status}: ${count}`)
  const figures = {
    requests: round.sent,
    seed,
    answers: statuses.join(', '),
    '5xx': round.failed,
    'slowest answer, ms': Math.round(round.slowest),
    'lines of failure in the log': failures.length,
    'heap after warm-up and at the end, MB': `${megabytes(warm.heapBytes)}, ${megabytes(end.heapBytes)}`,
    'process after warm-up and at the end, MB': `${megabytes(warm.rssBytes)}, ${megabytes(end.rssBytes)}`,
  }
  return { figures, flaws }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

const known = [
  ...Object.values(vaultThatIs),
  ...new Set(demoFacts(midnight).flatMap((fact) => ('vault' in fact ? [fact.vault] : []))),
]

const anything: fc.Arbitrary<Sent> = fc.oneof(
  { weight: 12, arbitrary: requestsFor(known) },
  { weight: 1, arbitrary: malformed(`/vault/${vaultThatIs.earning}/snapshot`).map((bytes) => ({ bytes })) },
)

/** Counts what is sent and what comes back. */
class Round {
  sent = 0
  failed = 0
  slowest = 0
  readonly statuses: Record<string, number> = {}
  readonly flaws: string[] = []
  readonly #client: Client

  constructor(readonly port: number) {
    this.#client = clientOf(port, atOnce)
  }

  async send(all: readonly Sent[]): Promise<void> {
    await eachOf(all, atOnce, async (one) => {
      this.sent++
      try {
        await ('bytes' in one ? this.#sendBytes(one.bytes) : this.#ask(one))
      } catch (error) {
        this.#flaw(one, (error as Error).message)
      }
    })
  }

  close(): void {
    this.#client.close()
  }

  async #ask(asked: Asked): Promise<void> {
    const answered = await this.#client.ask(asked)
    this.#count(asked, answered.status)
    this.#took(asked, answered.milliseconds, `${answered.status} ${answered.body}`)
    for (const flaw of await flawsOfAnswer(asked, answered)) this.#flaw(asked, flaw)
  }

  /** Sends the bytes and no more; whatever comes then, the other side has to close. */
  async #sendBytes(bytes: string): Promise<void> {
    const started = performance.now()
    const connection = await rawConnection(this.port)
    connection.socket.end(bytes, 'latin1')
    const came = await connection.closed
    this.#took({ bytes }, performance.now() - started, came)
    const statuses = Array.from(came.matchAll(/^HTTP\/1\.1 (\d{3})/gm), ([, status]) => Number(status))
    if (statuses.length === 0) this.statuses['none'] = (this.statuses['none'] ?? 0) + 1
    for (const status of statuses) this.#count({ bytes }, status)
  }

  #took(sent: Sent, milliseconds: number, came: string): void {
    this.slowest = Math.max(this.slowest, milliseconds)
    if (milliseconds > deadlineSeconds * 1000)
      this.#flaw(sent, `was answered after ${Math.round(milliseconds)} ms: ${came.slice(0, 300)}`)
  }

  #count(sent: Sent, status: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    if (status < 500) return
    this.failed++
    this.#flaw(sent, `was answered ${status}`)
  }

  #flaw(sent: Sent, flaw: string): void {
    this.flaws.push(`${flaw}: ${shown(sent)}`)
  }
}

/** Describes an input; a long one is shortened in the middle. */
function shown(sent: Sent): string {
  const text = JSON.stringify(sent)
  return text.length <= maxShown ? text : `${text.slice(0, maxShown / 2)}...${text.slice(-maxShown / 2)}`
}

/** Contradictions of an answer with its own headers or with /openapi.json. */
async function flawsOfAnswer({ method, target }: Asked, { status, headers, body }: Answered): Promise<string[]> {
  const type = String(headers['content-type'])
  if (type.includes('json') && body !== '') {
    try {
      const { status: written } = JSON.parse(body) as { status?: unknown }
      if (type.includes('problem') && written !== status) return [`was answered ${status} and told ${String(written)}`]
    } catch {
      return [`was answered what is no JSON: ${body.slice(0, 200)}`]
    }
  }
  if (method !== 'GET' && method !== 'HEAD') return []
  const url = URL.canParse(target, origin) ? new URL(target, origin) : null
  // What another spelling of a URL comes to is between the client and its library.
  if (url?.origin !== origin || url.pathname + url.search !== target) return []
  const bodiless = status === 304 || status === 204
  const told = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  return openapiViolations(
    new Request(url, { method }),
    new Response(bodiless ? null : body, { status, headers: told }),
  )
}
