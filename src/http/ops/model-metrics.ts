import { Gauge, Registry } from 'prom-client'
import { shortNames } from '../../graphql/feed-names.ts'

/** Figures of the read model. */
export interface ModelFigures {
  /** Position up to which each feed has been applied. */
  readonly feeds: readonly {
    readonly name: string
    readonly lines: number
    /** Position in the decompressed feed; null for a chain. */
    readonly bytes: number | null
    /** Newest block that was read and applied; null for any other feed. */
    readonly block: number | null
    /** Time of the feed's newest fact, in Unix seconds. */
    readonly newestFactAt: number | null
    /** Time up to which every fact of its source is known to be applied, in Unix seconds. */
    readonly readUntil: number | null
  }[]
  /** Time of the newest fact in Unix seconds; null before the first fact. */
  readonly newestFactAt: number | null
  /** Sequence number of the newest commit; null before the first. */
  readonly commitSeq: number | null
}

export interface ModelMetricsOptions {
  /** Reads the figures; null if the database does not respond. It never rejects, and its duration is limited. */
  readonly read: () => Promise<ModelFigures | null>
  readonly isFeedStopped: () => boolean
  readonly isFeedWaiting: () => boolean
  /** Number of vaults of chains that are set aside. */
  readonly setAside?: () => number
  readonly nowSeconds: () => number
}

/**
 * Creates the metrics of the applied facts, in Prometheus' text format; they are equal in all processes. While the
 * database is unavailable its figures are omitted, because a stale position looks the same as a stalled feed.
 */
export function createModelMetrics(options: ModelMetricsOptions): () => Promise<string> {
  const { read, isFeedStopped, isFeedWaiting, setAside = () => 0, nowSeconds } = options
  const registry = new Registry()
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> =>
    new Gauge({ name: `vault_gateway_${name}`, help, labelNames, registers: [registry] })
  const up = gauge('database_up', '1 where the database answered this scrape in time, else 0.')
  const stopped = gauge('feed_stopped', '1 where the feed was stopped by a bad fact or an error, else 0.')
  const waiting = gauge(
    'feed_waiting',
    "1 where the feed waits for its database, for room on a disk, for the machine's clock, or for its file, else 0.",
  )
  const aside = gauge('vaults_set_aside', 'Vaults of chains that are set aside, while the others are read.')
  const lines = gauge('feed_position_lines', 'Lines of a feed that have been applied.', ['feed'])
  const bytes = gauge('feed_position_bytes', 'Bytes of a feed, decompressed, that have been applied.', ['feed'])
  const block = gauge('feed_position_block', 'Newest block of a chain that has been read and applied.', ['feed'])
  const factAge = gauge('feed_newest_fact_age_seconds', 'Time since the newest fact of a feed, by its own ts.', [
    'feed',
  ])
  const readAge = gauge(
    'feed_read_until_age_seconds',
    'Time since which it is not known whether the source of a feed holds more; absent until it was read to its end.',
    ['feed'],
  )
  const seq = gauge('commit_seq', 'Number of the newest commit in the database.')
  const age = gauge('newest_fact_age_seconds', 'Time since the newest fact of any kind, by its own ts.', [])

  return async () => {
    const figures = await read()
    up.set(figures === null ? 0 : 1)
    stopped.set(isFeedStopped() ? 1 : 0)
    waiting.set(isFeedWaiting() ? 1 : 0)
    aside.set(setAside())
    for (const each of [lines, bytes, block, factAge, readAge]) each.reset()
    const now = nowSeconds()
    const feeds = figures?.feeds ?? []
    const labels = shortNames(feeds.map(({ name }) => name))
    feeds.forEach((feed, index) => {
      const label = { feed: labels[index] ?? feed.name }
      lines.set(label, feed.lines)
      if (feed.bytes !== null) bytes.set(label, feed.bytes)
      if (feed.block !== null) block.set(label, feed.block)
      if (feed.newestFactAt !== null) factAge.set(label, now - feed.newestFactAt)
      if (feed.readUntil !== null) readAge.set(label, now - feed.readUntil)
    })
    for (const each of [age, seq]) each.remove()
    if (figures?.newestFactAt != null) age.set(now - figures.newestFactAt)
    if (figures?.commitSeq != null) seq.set(figures.commitSeq)
    return registry.metrics()
  }
}
