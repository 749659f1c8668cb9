import { Gauge, Registry } from 'prom-client'

/** What the read model tells of itself. */
export interface ModelFigures {
  /** How far each feed has been applied. */
  readonly feeds: readonly { readonly name: string; readonly lines: number; readonly bytes: number }[]
  /** Unix seconds; null before the first fact. */
  readonly newestFactAt: number | null
}

export interface ModelMetricsOptions {
  /** Null where the database doesn't answer. It never fails, and takes a bounded time. */
  readonly read: () => Promise<ModelFigures | null>
  readonly isFeedStopped: () => boolean
  readonly nowSeconds: () => number
}

/**
 * What is known of the facts that came in, in Prometheus' text format: it is the same whichever process is asked.
 * While the database is away, what it would tell is left out, for an old position can't be told from a feed that stands.
 */
export function createModelMetrics({ read, isFeedStopped, nowSeconds }: ModelMetricsOptions): () => Promise<string> {
  const registry = new Registry()
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> =>
    new Gauge({ name: `vault_gateway_${name}`, help, labelNames, registers: [registry] })
  const up = gauge('database_up', '1 where the database answered this scrape in time, else 0.')
  const stopped = gauge('feed_stopped', '1 where the feed was stopped by a bad fact or an error, else 0.')
  const lines = gauge('feed_position_lines', 'Lines of a feed that have been applied.', ['feed'])
  const bytes = gauge('feed_position_bytes', 'Bytes of a feed, unpacked, that have been applied.', ['feed'])
  const age = gauge('newest_fact_age_seconds', 'Time since the newest fact of any kind, by its own ts.', [])

  return async () => {
    const figures = await read()
    up.set(figures === null ? 0 : 1)
    stopped.set(isFeedStopped() ? 1 : 0)
    for (const each of [lines, bytes]) each.reset()
    const feeds = figures?.feeds ?? []
    const labels = shortNames(feeds.map(({ name }) => name))
    feeds.forEach((feed, index) => {
      const label = { feed: labels[index] ?? feed.name }
      lines.set(label, feed.lines)
      bytes.set(label, feed.bytes)
    })
    age.remove()
    if (figures?.newestFactAt != null) age.set(nowSeconds() - figures.newestFactAt)
    return registry.metrics()
  }
}

/** The ends of paths, as short as tells one from another: where the folders are is nobody's business. */
export function shortNames(names: readonly string[]): string[] {
  return names.map((name) => {
    const parts = name.split(/[\\/]/)
    const ends = parts.map((_, index) => parts.slice(-index - 1).join('/'))
    return ends.find((end) => names.filter((other) => isEnd(end, other)).length === 1) ?? name
  })
}

function isEnd(end: string, name: string): boolean {
  return `/${name.replaceAll('\\', '/')}`.endsWith(`/${end}`)
}
