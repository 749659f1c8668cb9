import fc from 'fast-check'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { openapiViolations } from '../support/openapi-conformance.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import type { Homes } from '../support/home.ts'
import { rawConnection } from '../support/raw.ts'
import { apply, midnight } from '../support/world.ts'
import { type Client, createClient, forEachConcurrently, type HttpRequest, type TimedResponse } from './client.ts'
import { errorLogLines, type GatewayProcess, megabytes, type ResourceUsage, startGateway } from './gateway.ts'
import { malformedHttp } from './malformed-http.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'
import { requestsFor } from './requests.ts'

const origin = 'http://gateway.test'
const concurrency = 16
const batchSize = 500
const deadlineSeconds = 10
/** Share of the requests that warm up caches and compiled code. */
const warmUpShare = 0.2
/** A response cache that is full after the warm-up, so that later growth of the heap is a leak. */
const smallCache = { CACHE_MEGABYTES: '2' }
/** Number of requests that fill the caches; the heap of shorter runs still grows without a leak. */
const minRequestsForHeapCheck = 20_000
const maxGrowth = 1.2
const maxDescriptionLength = 1_000

/** Options of the program `fuzz`. */
interface FuzzOptions {
  readonly homes: Homes
  readonly requests: number
  readonly seed: number
  readonly reportProgress: ReportProgress
}

/** Input of the fuzzer: an HTTP request, or raw bytes, which may be invalid HTTP. */
type FuzzInput = HttpRequest | { readonly bytes: string }

/** Sends random requests to a gateway, and checks each response, the error log, and the heap at the end. */
export async function fuzz({ homes, requests, seed, reportProgress }: FuzzOptions): Promise<ProgramResult> {
  const home = await homes.create()
  const database = await home.open()
  await apply(database, everything)
  await apply(database, demoFacts(midnight))
  await database.close()
  const gateway = await startGateway([], { ...home.env, ...smallCache })
  const session = new FuzzSession(gateway.port)
  await loadGraphiqlPage(gateway.port)
  let usageAfterWarmUp: ResourceUsage | undefined
  for (let sent = 0; sent < requests; sent += batchSize) {
    if (usageAfterWarmUp === undefined && sent >= requests * warmUpShare) usageAfterWarmUp = await gateway.read()
    await session.send(fc.sample(anyInput, { numRuns: Math.min(batchSize, requests - sent), seed: seed + sent }))
    reportProgress(`${session.sent} requests, ${session.violations.length} violations`)
  }
  session.close()
  return toResult(session, gateway, usageAfterWarmUp ?? (await gateway.read()), seed)
}

/** Loads GraphiQL's page, whose memory is allocated with the first request, before the heap is measured. */
async function loadGraphiqlPage(port: number): Promise<void> {
  const client = createClient(port, 1)
  const { status } = await client.send({ method: 'GET', target: '/graphql', headers: { accept: 'text/html' } })
  client.close()
  if (status !== 200) throw new Error(`GraphiQL's page: status ${status}`)
}

/** Stops the gateway, and checks its heap, log and exit status. */
async function toResult(
  session: FuzzSession,
  gateway: GatewayProcess,
  usageAfterWarmUp: ResourceUsage,
  seed: number,
): Promise<ProgramResult> {
  const usageAtEnd = await gateway.read()
  const outcome = await gateway.stop()
  const heapGrowth = usageAtEnd.heapBytes / usageAfterWarmUp.heapBytes
  const logLines = errorLogLines(outcome)
  const violations = [
    ...session.violations,
    ...logLines.map((line) => `The gateway logged ${line}`),
    ...(outcome.status === 0 ? [] : [`The gateway exited with ${outcome.status ?? String(outcome.signal)}`]),
    ...(session.sent >= minRequestsForHeapCheck && heapGrowth > maxGrowth
      ? [`The heap grew by a factor of ${heapGrowth.toFixed(2)}`]
      : []),
  ]
  const statuses = Object.entries(session.statuses).map(([status, count]) => `${status}: ${count}`)
  const measurements = {
    requests: session.sent,
    seed,
    'responses by status': statuses.join(', '),
    '5xx': session.failed,
    'slowest response, ms': Math.round(session.slowest),
    'lines of the error log': logLines.length,
    'heap after warm-up and at the end, MB': `${megabytes(usageAfterWarmUp.heapBytes)}, ${megabytes(usageAtEnd.heapBytes)}`,
    'process after warm-up and at the end, MB': `${megabytes(usageAfterWarmUp.rssBytes)}, ${megabytes(usageAtEnd.rssBytes)}`,
  }
  return { measurements, violations }
}

const knownVaults = [
  ...Object.values(vaultThatIs),
  ...new Set(demoFacts(midnight).flatMap((fact) => ('vault' in fact ? [fact.vault] : []))),
]

const anyInput: fc.Arbitrary<FuzzInput> = fc.oneof(
  { weight: 12, arbitrary: requestsFor(knownVaults) },
  { weight: 1, arbitrary: malformedHttp(`/vault/${vaultThatIs.earning}/snapshot`).map((bytes) => ({ bytes })) },
)

/** Sends inputs, and collects statuses, response times and violations. */
class FuzzSession {
  sent = 0
  failed = 0
  slowest = 0
  readonly statuses: Record<string, number> = {}
  readonly violations: string[] = []
  readonly #client: Client

  constructor(readonly port: number) {
    this.#client = createClient(port, concurrency)
  }

  async send(all: readonly FuzzInput[]): Promise<void> {
    await forEachConcurrently(all, concurrency, async (input) => {
      this.sent++
      try {
        await ('bytes' in input ? this.#sendBytes(input.bytes) : this.#sendRequest(input))
      } catch (error) {
        this.#addViolation(input, (error as Error).message)
      }
    })
  }

  close(): void {
    this.#client.close()
  }

  async #sendRequest(request: HttpRequest): Promise<void> {
    const response = await this.#client.send(request)
    this.#countStatus(request, response.status)
    this.#checkDuration(request, response.milliseconds, `${response.status} ${response.body}`)
    for (const violation of await responseViolations(request, response)) this.#addViolation(request, violation)
  }

  /** Sends bytes and a FIN; waits until the gateway closes the connection. */
  async #sendBytes(bytes: string): Promise<void> {
    const started = performance.now()
    const connection = await rawConnection(this.port)
    connection.socket.end(bytes, 'latin1')
    const received = await connection.closed
    this.#checkDuration({ bytes }, performance.now() - started, received)
    const statuses = Array.from(received.matchAll(/^HTTP\/1\.1 (\d{3})/gm), ([, status]) => Number(status))
    if (statuses.length === 0) this.statuses['none'] = (this.statuses['none'] ?? 0) + 1
    for (const status of statuses) this.#countStatus({ bytes }, status)
  }

  #checkDuration(sent: FuzzInput, milliseconds: number, received: string): void {
    this.slowest = Math.max(this.slowest, milliseconds)
    if (milliseconds > deadlineSeconds * 1000)
      this.#addViolation(sent, `response after ${Math.round(milliseconds)} ms: ${received.slice(0, 300)}`)
  }

  #countStatus(sent: FuzzInput, status: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    if (status < 500) return
    this.failed++
    this.#addViolation(sent, `status ${status}`)
  }

  #addViolation(sent: FuzzInput, violation: string): void {
    this.violations.push(`${violation}: ${describeInput(sent)}`)
  }
}

/** Formats an input as JSON, with the middle left out if it is long. */
function describeInput(sent: FuzzInput): string {
  const text = JSON.stringify(sent)
  return text.length <= maxDescriptionLength
    ? text
    : `${text.slice(0, maxDescriptionLength / 2)}...${text.slice(-maxDescriptionLength / 2)}`
}

/** Returns the contradictions of a response with its own headers, or with /openapi.json. */
async function responseViolations(
  { method, target }: HttpRequest,
  { status, headers, body }: TimedResponse,
): Promise<string[]> {
  const type = String(headers['content-type'])
  if (type.includes('json') && body !== '') {
    try {
      const { status: problemStatus } = JSON.parse(body) as { status?: unknown }
      if (type.includes('problem') && problemStatus !== status)
        return [`status ${status}, but ${String(problemStatus)} in the problem`]
    } catch {
      return [`invalid JSON: ${body.slice(0, 200)}`]
    }
  }
  if (method !== 'GET' && method !== 'HEAD') return []
  const url = URL.canParse(target, origin) ? new URL(target, origin) : null
  // URLs that the parser would normalise are not checked against OpenAPI.
  if (url?.origin !== origin || url.pathname + url.search !== target) return []
  const bodiless = status === 304 || status === 204
  const headerEntries = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  return openapiViolations(
    new Request(url, { method }),
    new Response(bodiless ? null : body, { status, headers: headerEntries }),
  )
}
