import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import type { CacheFigures } from '../cache/response-cache.ts'
import type { DataVersions } from '../cache/data-versions.ts'
import { type ExecutionObserver, fallbackReasons } from '../../graphql/execution/context.ts'
import type { LiveObserver } from '../live/delivery/live-connections.ts'
import { liveMetrics } from '../live/delivery/live-metrics.ts'
import { type RequestMetrics, requestMetrics } from './request-metrics.ts'

export interface MetricsOptions {
  /** Read at each scrape. */
  readonly cache?: () => CacheFigures
  /** Read at each scrape. */
  readonly versions?: DataVersions
  /** Replicas that are read from; read at each scrape. Without it there are none. */
  readonly readServer?: (() => ReadServerFigures) | undefined
  /** Number of this process if several serve one port: a label on all of its metrics. */
  readonly worker?: number | 'primary'
}

/** The configured read servers, the one in use, and the number of changes between them. */
export interface ReadServerFigures {
  readonly servers: readonly string[]
  readonly server: string | null
  readonly moves: number
}

/** Metrics of one process, in a registry of its own. */
export interface Metrics extends RequestMetrics, Required<ExecutionObserver> {
  readonly onConnections: (open: number) => void
  readonly onRefused: () => void
  readonly live: LiveObserver
  /** Returns all metrics in Prometheus' text format. */
  text(): Promise<string>
}

/** Creates the metrics of a process. Labels have a small fixed set of values: client input never creates a new one. */
export function createMetrics({ cache, versions, readServer, worker }: MetricsOptions = {}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  if (worker !== undefined) registry.setDefaultLabels({ worker: String(worker) })
  collectDefaultMetrics({ register: registry })
  const repeated = new Counter({
    name: 'vault_gateway_answers_repeated_total',
    help: 'Answers made again in one snapshot, since facts were committed between their statements.',
    registers,
  })
  const fallbacks = new Counter({
    name: 'vault_gateway_graphql_fallbacks_total',
    help: 'Operations that graphql-js executed in place of the compiled one, by reason: an error, or not compiled (too many fields, or variants).',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of fallbackReasons) fallbacks.inc({ reason }, 0)
  const connections = new Gauge({
    name: 'vault_gateway_connections_open',
    help: 'Connections of clients that are open.',
    registers,
  })
  const refused = new Counter({
    name: 'vault_gateway_connections_refused_total',
    help: 'Connections closed at once, since as many were open as may be, in all or from one address.',
    registers,
  })
  if (cache !== undefined) countCache(registers, cache)
  if (versions !== undefined) tellAge(registers, versions)
  if (readServer !== undefined) tellReadServer(registers, readServer)
  return {
    ...requestMetrics(registers),
    onRepeat: () => repeated.inc(),
    onFallback: (reason) => fallbacks.inc({ reason }),
    onConnections: (open) => connections.set(open),
    onRefused: () => refused.inc(),
    live: liveMetrics(registers),
    text: () => registry.metrics(),
  }
}

function tellAge(registers: Registry[], versions: DataVersions): void {
  const gauge = (name: string, help: string, figure: () => number | null): void => {
    const collect = function (this: Gauge): void {
      const value = figure()
      if (value === null) this.remove()
      else this.set(value)
    }
    new Gauge({ name: `vault_gateway_${name}`, help, registers, collect })
  }
  gauge(
    'data_age_seconds',
    'Time since this process last knew that it had received every commit.',
    () => versions.currentState().ageSeconds,
  )
  gauge('commits_heard', '1 where this process receives commits, else 0: then it caches nothing.', () =>
    versions.isListening ? 1 : 0,
  )
  gauge('heard_commit_seq', 'Number of the newest commit that this process has received.', () => versions.newestSeq)
}

function tellReadServer(registers: Registry[], readServer: () => ReadServerFigures): void {
  new Gauge({
    name: 'vault_gateway_read_server',
    help: '1 for the server of READ_URLS that is read from, else 0.',
    labelNames: ['server'],
    registers,
    collect() {
      const { servers, server } = readServer()
      for (const each of servers) this.set({ server: each }, each === server ? 1 : 0)
    },
  })
  new Counter({
    name: 'vault_gateway_read_server_changes_total',
    help: 'How often another server of READ_URLS was chosen to be read from.',
    registers,
    collect() {
      this.reset()
      this.inc(readServer().moves)
    },
  })
}

function countCache(registers: Registry[], cache: () => CacheFigures): void {
  const counted = (name: string, help: string, figure: (figures: CacheFigures) => number): void => {
    const collect = function (this: Counter): void {
      this.reset()
      this.inc(figure(cache()))
    }
    new Counter({ name: `vault_gateway_cache_${name}_total`, help, registers, collect })
  }
  const held = (name: string, help: string, figure: (figures: CacheFigures) => number): void => {
    const collect = function (this: Gauge): void {
      this.set(figure(cache()))
    }
    new Gauge({ name: `vault_gateway_cache_${name}`, help, registers, collect })
  }
  counted('hits', 'Answers that the cache gave.', ({ hits }) => hits)
  counted('misses', 'Answers that the cache had not.', ({ misses }) => misses)
  counted('dropped', 'Answers dropped since something they were made from had changed.', ({ dropped }) => dropped)
  held('entries', 'Answers that the cache holds.', ({ entries }) => entries)
  held('bytes', 'Bytes that the cache takes.', ({ bytes }) => bytes)
}
