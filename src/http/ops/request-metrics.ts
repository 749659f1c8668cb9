import { Histogram, type Registry } from 'prom-client'
import type { ExecutionObserver } from '../../graphql/execution/context.ts'
import type { AnsweredRequest } from '../middleware/tracing.ts'

/** Metrics that each request counts. */
export interface RequestMetrics extends Required<Pick<ExecutionObserver, 'onLoad' | 'onStatement'>> {
  readonly onAnswered: (request: Pick<AnsweredRequest, 'route' | 'status' | 'milliseconds'>) => void
}

/** Bucket limits in seconds, from a cached response, through one that takes a few statements, to the deadline. */
const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Bucket limits in keys, from one vault to the maximum number of list items, nested once. */
const keysBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]

/** Creates the metrics that each request counts: requests, statements and batches of loaders. */
export function requestMetrics(registers: Registry[]): RequestMetrics {
  const requests = new ArrayHistogram({
    name: 'vault_gateway_http_request_duration_seconds',
    help: 'Time from a request to the last byte of its answer, by route and status; status "none": the client went before.',
    labelNames: ['route', 'status'],
    buckets: secondsBuckets,
    registers,
  })
  const statements = new ArrayHistogram({
    name: 'vault_gateway_statement_duration_seconds',
    help: 'Time of a statement that an answer reads by, its wait for a connection included; outcome "failed": or given up.',
    labelNames: ['statement', 'outcome'],
    buckets: secondsBuckets,
    registers,
  })
  const batches = new ArrayHistogram({
    name: 'vault_gateway_loader_batch_size',
    help: 'How many keys a loader reads at once.',
    labelNames: ['loader'],
    buckets: keysBuckets,
    registers,
  })
  return {
    onAnswered: ({ route, status, milliseconds }) =>
      requests.record(milliseconds / 1000, route, status === null ? 'none' : String(status)),
    onStatement: (statement, seconds, hasSucceeded) =>
      statements.record(seconds, statement, hasSucceeded ? 'done' : 'failed'),
    onLoad: (loader, keys) => batches.record(keys, loader),
  }
}

/** Counts of the values of one combination of labels. */
interface Tally {
  readonly labels: Readonly<Record<string, string>>
  /** One count per bucket, and one for values beyond the last limit. */
  readonly counts: number[]
  sum: number
}

/** Values as prom-client's own histogram returns them to its registry. */
interface HistogramValues {
  readonly name: string
  readonly help: string
  readonly type: 'histogram'
  readonly aggregator: 'sum'
  readonly values: readonly {
    readonly metricName: string
    readonly labels: { readonly le?: number | string }
    readonly sharedLabels: Readonly<Record<string, string>>
    readonly value: number
  }[]
}

interface HistogramOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  /** Inclusive upper limits of the buckets, ascending. */
  readonly buckets: readonly number[]
  readonly registers: Registry[]
}

/**
 * A histogram in prom-client's registry that counts in arrays, and takes prom-client's form when it is scraped. The
 * library's `observe` finds a bucket by its limit as a property name, which takes 2 us; a request is counted two to six
 * times, and a cached response takes 30 us.
 */
class ArrayHistogram extends Histogram {
  readonly #options: HistogramOptions
  readonly #tallies = new Map<string, Tally>()

  constructor(options: HistogramOptions) {
    super({ ...options, buckets: [...options.buckets] })
    this.#options = options
  }

  /** @param labelValues in the order of the label names, from a small fixed set */
  record(value: number, ...labelValues: readonly string[]): void {
    const { buckets } = this.#options
    const key = labelValues.join()
    const tally = this.#tallies.get(key) ?? this.#addTally(key, labelValues)
    let bucket = 0
    while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket += 1
    tally.counts[bucket] = (tally.counts[bucket] as number) + 1
    tally.sum += value
  }

  #addTally(key: string, labelValues: readonly string[]): Tally {
    const { labelNames, buckets } = this.#options
    const labels = Object.fromEntries(labelNames.map((name, place) => [name, labelValues[place] as string]))
    const tally = { labels, counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 }
    this.#tallies.set(key, tally)
    return tally
  }

  /** Overrides the method by which prom-client's registry and `get` read the values. */
  getForPromString(): Promise<HistogramValues> {
    const { name, help, buckets } = this.#options
    const limits = [...buckets, '+Inf']
    const values = [...this.#tallies.values()].flatMap(({ labels, counts, sum }) => {
      let upTo = 0
      return [
        ...limits.map((le, place) => {
          upTo += counts[place] as number
          return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: upTo }
        }),
        { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: sum },
        { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: upTo },
      ]
    })
    return Promise.resolve({ name, help, type: 'histogram', values, aggregator: 'sum' })
  }
}
