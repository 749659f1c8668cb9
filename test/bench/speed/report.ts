import type { Figures, Outcome } from './contest.ts'
import { type Goal, goals, type Measured } from './goals.ts'
import { type Workload, workloads } from './workloads.ts'

/** Heading of the figures: the machine they were measured on. */
export interface Setting {
  readonly date: string
  readonly machine: string
  readonly world: string
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
}

/** The report in Markdown: the goals, the ratios at a glance, and every figure. */
export function report(measured: Measured, setting: Setting): string {
  const { rounds, seconds, connections } = setting
  return [
    `${setting.date}, ${setting.machine}: one process each, ${connections} connections, medians of ${rounds} interleaved`,
    `rounds of ${seconds} s. ${setting.world}`,
    '',
    table(['goal', 'measured', ''], goals(measured).map(goalRow)),
    '',
    'Requests a second, as a ratio to bare (for W4, which bare has no answer to: to bare on W1):',
    '',
    ratios(measured.outcome),
    '',
    ...workloads.map((workload) => `**${workload.name}**: ${workload.what}.`),
    '',
    '<details><summary>Every figure, with its ratio to bare</summary>',
    '',
    ...workloads.flatMap((workload) => [details(workload, measured), '']),
    '</details>',
  ].join('\n')
}

function goalRow({ goal, figure, isReached }: Goal): string[] {
  return [goal, figure, isReached === null ? '' : isReached ? 'reached' : 'not reached']
}

function ratios(outcome: Outcome): string {
  const names = [...new Set([...outcome.values()].flatMap((byName) => [...byName.keys()]))]
  const rows = names.map((name) => [
    name,
    ...workloads.map((workload) => {
      const figures = outcome.get(workload.name)?.get(name)
      const unit = unitOf(outcome, workload.name)
      if (figures === undefined) return ''
      return unit === undefined
        ? rounded(figures.requestsASecond)
        : rounded(figures.requestsASecond / unit.requestsASecond)
    }),
  ])
  return table(['', ...workloads.map(({ name }) => name)], rows)
}

function details(workload: Workload, { outcome, statements }: Measured): string {
  const unit = unitOf(outcome, workload.name)
  const cell = (figures: Figures, of: (one: Figures) => number | null): string => {
    const [value, base] = [of(figures), unit && of(unit)]
    if (value === null) return ''
    return base == null ? rounded(value) : `${rounded(value)} (${rounded(value / base)})`
  }
  const rows = Array.from(outcome.get(workload.name) ?? [], ([name, figures]) => [
    name,
    cell(figures, (one) => one.requestsASecond),
    cell(figures, (one) => one.p50),
    cell(figures, (one) => one.p99),
    cell(figures, (one) => one.cpuMilliseconds),
    String(statements.get(name)?.get(workload.name) ?? ''),
    cell(figures, (one) => one.megabytes),
  ])
  return table(
    [workload.name, 'requests/s', 'p50, ms', 'p99, ms', 'CPU, ms a request', 'statements', 'memory, MB'],
    rows,
  )
}

/** The contestant to which others are told as a ratio. */
function unitOf(outcome: Outcome, workload: string): Figures | undefined {
  return outcome.get(workload)?.get('bare') ?? outcome.get('W1')?.get('bare')
}

function rounded(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
