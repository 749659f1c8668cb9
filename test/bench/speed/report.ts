import type { ComparisonResult, Measurement } from './comparison.ts'
import { evaluateGoals, type Goal, type SpeedResult } from './goals.ts'
import { type Workload, workloads } from './workloads.ts'

/** Conditions of a run, for the first lines of the report. */
export interface RunDescription {
  readonly date: string
  readonly machine: string
  /** Sizes of the worlds, as sentences. */
  readonly world: string
  readonly rounds: number
  /** Duration of one measurement. */
  readonly seconds: number
  readonly connections: number
}

/** Returns the report in Markdown: the goals, a table of ratios to the bare handler, and all measurements. */
export function formatReport(result: SpeedResult, run: RunDescription): string {
  const { rounds, seconds, connections } = run
  return [
    `${run.date}, ${run.machine}: one process each, ${connections} connections, medians of ${rounds} interleaved`,
    `rounds of ${seconds} s. ${run.world}`,
    '',
    table(['goal', 'measured', ''], evaluateGoals(result).map(goalRow)),
    '',
    'Requests a second, as a ratio to bare (for W4, which bare does not support: to bare on W1):',
    '',
    ratioTable(result.comparison),
    '',
    ...workloads.map((workload) => `**${workload.name}**: ${workload.description}.`),
    '',
    '<details><summary>All measurements, with their ratios to bare</summary>',
    '',
    ...workloads.flatMap((workload) => [measurementTable(workload, result), '']),
    '</details>',
  ].join('\n')
}

function goalRow({ goal, measured, isReached }: Goal): string[] {
  return [goal, measured, isReached === null ? '' : isReached ? 'reached' : 'not reached']
}

function ratioTable(comparison: ComparisonResult): string {
  const names = [...new Set([...comparison.values()].flatMap((byTarget) => [...byTarget.keys()]))]
  const rows = names.map((name) => [
    name,
    ...workloads.map((workload) => {
      const measurement = comparison.get(workload.name)?.get(name)
      const base = baseOf(comparison, workload.name)
      if (measurement === undefined) return ''
      return base === undefined
        ? rounded(measurement.requestsPerSecond)
        : rounded(measurement.requestsPerSecond / base.requestsPerSecond)
    }),
  ])
  return table(['', ...workloads.map(({ name }) => name)], rows)
}

function measurementTable(workload: Workload, { comparison, statements }: SpeedResult): string {
  const baseMeasurement = baseOf(comparison, workload.name)
  const cell = (measurement: Measurement, field: (one: Measurement) => number | null): string => {
    const [value, base] = [field(measurement), baseMeasurement && field(baseMeasurement)]
    if (value === null) return ''
    return base == null ? rounded(value) : `${rounded(value)} (${rounded(value / base)})`
  }
  const rows = Array.from(comparison.get(workload.name) ?? [], ([name, measurement]) => [
    name,
    cell(measurement, (one) => one.requestsPerSecond),
    cell(measurement, (one) => one.p50),
    cell(measurement, (one) => one.p99),
    cell(measurement, (one) => one.cpuMilliseconds),
    String(statements.get(name)?.get(workload.name) ?? ''),
    cell(measurement, (one) => one.megabytes),
  ])
  return table(
    [workload.name, 'requests/s', 'p50, ms', 'p99, ms', 'CPU, ms a request', 'statements', 'memory, MB'],
    rows,
  )
}

/** Returns the measurement to which the ratios of a workload relate: of bare on it, or else on W1. */
function baseOf(comparison: ComparisonResult, workload: string): Measurement | undefined {
  return comparison.get(workload)?.get('bare') ?? comparison.get('W1')?.get('bare')
}

/** Rounds to three significant digits, and to an integer from 100 on. */
function rounded(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Returns a Markdown table. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
