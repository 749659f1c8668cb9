import { setTimeout as wait } from 'node:timers/promises'
import type { Environment } from '../support/process.ts'
import { type Samples, startWitness, type Witness } from './attacks/witness.ts'
import { type Answered, type Client, clientOf } from './client.ts'
import { dearQueries, type DearQuery } from './dear-queries.ts'
import { type GatewayProcess, startGateway } from './gateway.ts'
import { type Finding, quantile, type Say } from './show.ts'

const abusers = 32

export interface FloodOptions {
  readonly env: Environment
  /** Addresses of vaults. */
  readonly long: readonly string[]
  readonly short: readonly string[]
  /** How long each shape is asked for. */
  readonly seconds: number
  /** How many shapes are asked for, the dearest first. */
  readonly shapes: number
  /** Only shapes whose name holds one of these; all unless said. */
  readonly only?: readonly string[] | undefined
  /**
   * The snapshots' p99 and the slowest /health at most, in milliseconds; or half of what the dear queries take in the
   * middle, for the p99 alone.
   */
  readonly bounds: { readonly snapshots: number; readonly health: number } | 'half'
  readonly say: Say
}

/** Duration of a query while nothing else is asked. */
interface Alone {
  readonly dear: DearQuery
  readonly status: number
  readonly bytes: number
  readonly milliseconds: number
  readonly cpuMilliseconds: number
  readonly blockedMilliseconds: number
}

/** Outcome of both under the flood. */
interface Flood {
  readonly dear: readonly Answered[]
  readonly honest: Samples
}

/** Asks for the dearest queries that the bounds let through, many at once, and times plain snapshots meanwhile. */
export async function floodWithDearQueries(options: FloodOptions): Promise<Finding> {
  const { env, long, short, seconds, shapes, only, bounds, say } = options
  const gateway = await startGateway([], env)
  const client = clientOf(gateway.port, abusers)
  const witness = startWitness(gateway.port, short)
  const alone: Alone[] = []
  const chosen = dearQueries(long).filter(({ shape }) => only?.some((each) => shape.includes(each)) ?? true)
  for (const dear of chosen) {
    alone.push(await measureAlone(gateway, client, dear))
    say(`alone: ${dear.shape}`)
  }
  const dearest = alone.toSorted((a, b) => b.cpuMilliseconds - a.cpuMilliseconds).slice(0, shapes)
  const figures: Record<string, string> = {}
  const flaws: string[] = []
  for (const one of dearest) {
    say(`at once: ${one.dear.shape}`)
    const flood = await floodWith(gateway.port, witness, one.dear, seconds)
    figures[one.dear.shape] = `${inWords(one)}; ${inFigures(flood)}`
    flaws.push(...flawsOf(flood, bounds).map((flaw) => `Under ${one.dear.shape}, ${flaw}`))
  }
  client.close()
  witness.close()
  const { status } = await gateway.stop()
  return { figures, flaws: [...flaws, ...(status === 0 ? [] : [`The gateway ended with ${String(status)}`])] }
}

let asked = 0

/** The answer; of a gateway that gives none, nothing with the status 0. */
async function answerOf(asking: Promise<Answered>): Promise<Answered> {
  const begun = performance.now()
  return asking.catch(() => ({ status: 0, headers: {}, body: '', milliseconds: performance.now() - begun }))
}

/** Asks in a text that never was, so that nothing known of an earlier one helps. */
function ask(client: Client, { query, variables }: DearQuery): Promise<Answered> {
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return client.ask({
    method: 'POST',
    target: '/graphql',
    headers,
    body: JSON.stringify({ query: `${query} # ${++asked}`, variables }),
  })
}

async function measureAlone(gateway: GatewayProcess, client: Client, dear: DearQuery): Promise<Alone> {
  await answerOf(ask(client, dear))
  const before = await gateway.read()
  const { status, body, milliseconds } = await answerOf(ask(client, dear))
  const after = await gateway.read()
  return {
    dear,
    status,
    bytes: body.length,
    milliseconds,
    cpuMilliseconds: (after.cpuSeconds - before.cpuSeconds) * 1000,
    blockedMilliseconds: after.blockedSeconds * 1000,
  }
}

/** Floods the gateway for some seconds beside honest clients, and until these have their last answers. */
async function floodWith(port: number, witness: Witness, dear: DearQuery, seconds: number): Promise<Flood> {
  const answered: Answered[] = []
  const client = clientOf(port, abusers)
  const flooding = { isOver: false }
  const abuser = async (): Promise<void> => {
    while (!flooding.isOver) {
      answered.push(await answerOf(ask(client, dear)))
    }
  }
  witness.begin()
  const ended = Promise.all(Array.from({ length: abusers }, abuser))
  await wait(seconds * 1000)
  const honest = await witness.end()
  flooding.isOver = true
  // What is cut from here on is none of the gateway's.
  const inTime = [...answered]
  client.close()
  await ended
  return { dear: inTime, honest }
}

function flawsOf({ dear, honest }: Flood, bounds: FloodOptions['bounds']): string[] {
  const ofDear = dear.map(({ milliseconds }) => milliseconds)
  const p99 = quantile(honest.snapshots, 0.99)
  // Dear queries of which none was answered took longer than all that was.
  const half = ofDear.length === 0 ? Infinity : quantile(ofDear, 0.5) / 2
  const most = bounds === 'half' ? { snapshots: half, health: Infinity } : bounds
  const slowest = Math.max(0, ...honest.health)
  const strange = dear.filter(({ status, headers }) => status !== 200 && headers['retry-after'] === undefined)
  return [
    ...(p99 > most.snapshots
      ? [`the snapshots' p99 is ${Math.round(p99)} ms, more than ${Math.round(most.snapshots)}`]
      : []),
    ...(slowest > most.health ? [`/health took ${Math.round(slowest)} ms, more than ${most.health}`] : []),
    ...(strange.length > 0
      ? [`${strange.length} answers were ${String(strange[0]?.status)} and told no time to come again`]
      : []),
    ...(honest.failed > 0 ? [`${honest.failed} honest requests were refused or cut`] : []),
  ]
}

function inWords({ status, bytes, milliseconds, cpuMilliseconds, blockedMilliseconds }: Alone): string {
  const [ms, cpu, blocked] = [milliseconds, cpuMilliseconds, blockedMilliseconds].map(Math.round)
  return `alone ${status}, ${Math.round(bytes / 1000)} KB, ${ms} ms, CPU ${cpu} ms, loop blocked ${blocked} ms`
}

function inFigures({ dear, honest }: Flood): string {
  const answered = dear.filter(({ status }) => status === 200).length
  const [p50, p99] = [0.5, 0.99].map((share) => Math.round(quantile(honest.snapshots, share)))
  const health = Math.round(Math.max(...honest.health))
  const atOnce = `at once ${answered} of ${dear.length} answered 200`
  return `${atOnce}; ${honest.snapshots.length} snapshots, p50 ${p50} ms, p99 ${p99} ms; /health at most ${health} ms`
}
