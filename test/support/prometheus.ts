/** A sample of a time series. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metric {
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

const types = ['counter', 'gauge', 'histogram', 'summary']
const label = String.raw`[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"`
const sampleLine = new RegExp(String.raw`^([a-zA-Z_:][\w:]*)(?:\{(${label}(?:,${label})*)\})? (\S+)$`)

/**
 * Parses metrics in Prometheus' text format, by name. It is stricter than the format: each metric needs HELP and TYPE, occurs
 * once, and has consistent samples.
 * @throws {Error} at the first invalid line or metric
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function parseMetrics(text: string): ReadonlyMap<string, Metric> {
  const metrics = new Map<string, Metric & { samples: Sample[] }>()
  if (!text.endsWith('\n')) throw new Error('The last line has no line feed')
  let name = ''
  let help: string | undefined
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, word = '', subject = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? []
    if (word === 'HELP') {
      if (metrics.has(subject)) throw new Error(`${subject} occurs twice`)
      ;[name, help] = [subject, rest]
    } else if (word === 'TYPE') {
      if (subject !== name || help === undefined || !types.includes(rest)) throw new Error(`Unexpected line: ${line}`)
      metrics.set(name, { type: rest, help, samples: [] })
      help = undefined
    } else {
      metrics.get(name)?.samples.push(readSample(line, name))
    }
  }
  for (const [name, metric] of metrics) check(name, metric)
  return metrics
}

function readSample(line: string, metric: string): Sample {
  const [, name = '', labels = '', text = ''] = sampleLine.exec(line) ?? []
  if (!name.startsWith(metric) || metric === '') throw new Error(`Not a sample of ${metric}: ${line}`)
  const value = text === '+Inf' ? Infinity : Number(text)
  if (Number.isNaN(value) && text !== 'Nan' && text !== 'NaN') throw new Error(`Invalid value: ${line}`)
  const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key = '', value = '']) => [key, value])
  return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value }
}

/** Checks that the samples of a metric are consistent. */
function check(name: string, { type, samples }: Metric): void {
  const series = samples.map((sample) => sample.name + JSON.stringify(Object.entries(sample.labels).sort()))
  if (new Set(series).size < series.length) throw new Error(`${name} has a duplicate series`)
  if (type === 'counter' && samples.some(({ value }) => value < 0)) throw new Error(`${name} is negative`)
  if (type !== 'histogram') {
    if (samples.some((sample) => sample.name !== name)) throw new Error(`${name} has samples with another name`)
    return
  }
  const withSuffix = (suffix: string): readonly Sample[] =>
    samples.filter((sample) => sample.name === `${name}_${suffix}`)
  for (const { labels, value } of withSuffix('count')) {
    const buckets = withSuffix('bucket').filter((bucket) => hasLabels(bucket, labels))
    const counts = buckets.map((bucket) => bucket.value)
    const isCumulative = counts.every((count, index) => count >= (counts[index - 1] ?? 0))
    if (!isCumulative || buckets.at(-1)?.labels['le'] !== '+Inf' || counts.at(-1) !== value) {
      throw new Error(`The buckets of ${name} are inconsistent`)
    }
    if (!withSuffix('sum').some((sum) => hasLabels(sum, labels))) throw new Error(`${name} has no sum`)
  }
}

/** Returns whether a sample has these labels, among others. */
function hasLabels(sample: Sample, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(labels).every(([key, value]) => sample.labels[key] === value)
}
