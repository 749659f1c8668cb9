import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { joined } from '../../src/http/ops/metrics-endpoint.ts'
import { createMetrics } from '../../src/http/ops/metrics.ts'
import { createModelMetrics } from '../../src/http/ops/model-metrics.ts'
import { readmeOf, tableOf } from '../contract/readmes.ts'
import { type Metric, parseMetrics } from '../support/prometheus.ts'
import { noPromtool, promtool } from '../support/promtool.ts'

const file = (name: string): string => path.join(import.meta.dirname, name)
const read = (name: string): Promise<string> => readFile(file(name), 'utf8')

interface Panel {
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly targets: readonly { readonly expr: string }[]
}

const dashboard = JSON.parse(await read('dashboard.json')) as { panels: Panel[] }
const shown = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
const rules = await read('alerts.yml')
const suffix = /_(?:bucket|sum|count)$/

/** Returns all metrics of a gateway on replicas with a worker and feeds of each kind, with a series of each. */
async function exposedMetrics(): Promise<ReadonlyMap<string, Metric>> {
  const [cache, versions] = [createResponseCache(1_000), new DataVersions()]
  const readServer = () => ({ servers: ['a:5432'], server: 'a:5432', moves: 1 })
  const metrics = createMetrics({ cache: () => cache.figures(), versions, readServer, worker: 1 })
  versions.listening(true)
  versions.upToDate(performance.now())
  metrics.onAnswered({ route: '/graphql', status: 200, milliseconds: 1 })
  metrics.onStatement('vaults', 0.001, true)
  metrics.onLoad('vaults', 2)
  const feed = { name: 'feed.ndjson', lines: 1, bytes: 1, block: 1, newestFactAt: 1, readUntil: 1 }
  const model = createModelMetrics({
    read: () => Promise.resolve({ feeds: [feed], newestFactAt: 1, commitSeq: 1 }),
    isFeedStopped: () => false,
    isFeedWaiting: () => false,
    nowSeconds: () => 2,
  })
  return parseMetrics(joined([await metrics.text(), await model()]))
}

interface Selector {
  readonly name: string
  readonly labels: readonly string[]
}

/** Returns the metrics of the gateway in an expression, with the labels of their selectors. */
function selectorsIn(text: string): Selector[] {
  const found = text.matchAll(/\b(vault_gateway_\w+)(?:\{([^}]*)\})?/g)
  return Array.from(found, ([, name = '', labels = '']) => ({
    name,
    labels: Array.from(labels.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g), ([, label = '']) => label),
  }))
}

/** Labels that Prometheus adds to each series. */
const ofPrometheus = ['instance', 'job']

function problemsOf(selectors: readonly Selector[], metrics: ReadonlyMap<string, Metric>): string[] {
  return selectors.flatMap(({ name, labels }) => {
    const metric = metrics.get(name) ?? metrics.get(name.replace(suffix, ''))
    const isHistogram = metric?.type === 'histogram'
    if (metric === undefined || isHistogram !== suffix.test(name)) return [`${name} is no metric of the gateway`]
    const samples = metric.samples.flatMap((sample) => Object.keys(sample.labels))
    return labels
      .filter((label) => ![...ofPrometheus, ...samples].includes(label))
      .map((label) => `${name} has no label ${label}`)
  })
}

describe('the alerts and the dashboard', () => {
  let metrics: ReadonlyMap<string, Metric>

  beforeAll(async () => {
    metrics = await exposedMetrics()
  })

  test('use only metrics and labels that the gateway has', () => {
    for (const text of [rules, shown.join('\n')]) {
      const selectors = selectorsIn(text)
      expect(selectors.length).toBeGreaterThan(10)
      expect(problemsOf(selectors, metrics)).toEqual([])
    }
    const wrong = 'vault_gateway_feed_stoped + vault_gateway_read_server{sever="a"} + vault_gateway_loader_batch_size'
    expect(problemsOf(selectorsIn(wrong), metrics)).toEqual([
      'vault_gateway_feed_stoped is no metric of the gateway',
      'vault_gateway_read_server has no label sever',
      'vault_gateway_loader_batch_size is no metric of the gateway',
    ])
  })

  test('are documented with their remedies on the page, all of them', () => {
    const documented = tableOf(readmeOf('test/cluster'), 'alert', 'meaning', 'to do').rows.map(([alert = '']) => alert)
    const names = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name = '']) => `\`${name}\``)
    expect(names.length).toBeGreaterThan(20)
    expect(documented).toEqual(names)
  })

  test('have panels that do not overlap', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(dashboard.panels.map(({ title }) => title)).size).toBe(dashboard.panels.length)
  })
})

describe.skipIf(noPromtool !== null)(`promtool${noPromtool === null ? '' : ` (${noPromtool})`}`, () => {
  test('accepts the alert rules and the configuration', async () => {
    expect(await promtool('check', 'rules', file('alerts.yml'))).toContain('SUCCESS')
    expect(await promtool('check', 'config', file('prometheus.yml'))).toContain('SUCCESS')
  })

  test('passes the unit tests of the alert rules', async () => {
    expect(await promtool('test', 'rules', file('alerts.test.yml'))).toContain('SUCCESS')
  })

  test('accepts the expressions of the panels', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'promtool-'))
    const recorded = shown.map((expression, index) => ({
      record: `panel:shown${index}`,
      expr: expression.replaceAll('$__rate_interval', '1m'),
    }))
    const asRules = path.join(folder, 'rules.yml')
    await writeFile(asRules, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }))
    try {
      expect(await promtool('check', 'rules', asRules)).toContain(`${shown.length} rules found`)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
