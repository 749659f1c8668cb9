/** Result of a program. */
export interface ProgramResult {
  readonly measurements: Readonly<Record<string, string | number>>
  /** Where its claim doesn't hold; none where it does. */
  readonly violations: readonly string[]
}

/** Is told how far a show is. */
export type ReportProgress = (message: string) => void

export const ignoreProgress: ReportProgress = () => undefined

const maxPrintedViolations = 10

/** A finding as lines to read: its figures, and the first of its flaws. */
export function formatResult({ measurements, violations }: ProgramResult): string {
  const width = Math.max(...Object.keys(measurements).map((name) => name.length))
  const lines = Object.entries(measurements).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
  const omitted =
    violations.length > maxPrintedViolations ? [`  and ${violations.length - maxPrintedViolations} more`] : []
  const verdict =
    violations.length === 0
      ? ['It holds.']
      : ['It does not hold:', ...violations.slice(0, maxPrintedViolations), ...omitted]
  return [...lines, ...verdict].join('\n')
}

/** The value that a share of the values, from 0 to 1, is not above. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}
