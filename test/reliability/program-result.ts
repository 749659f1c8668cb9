/** Result of a reliability program. */
export interface ProgramResult {
  /** Values by description, which includes the unit. */
  readonly measurements: Readonly<Record<string, string | number>>
  /** Contradictions of the program's claim; empty if it holds. */
  readonly violations: readonly string[]
}

/** Receives messages about the progress of a program. */
export type ReportProgress = (message: string) => void

export const ignoreProgress: ReportProgress = () => undefined

const maxPrintedViolations = 10

/** Formats a result as lines: all measurements, and the first violations. */
export function formatResult({ measurements, violations }: ProgramResult): string {
  const width = Math.max(...Object.keys(measurements).map((name) => name.length))
  const lines = Object.entries(measurements).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
  const omitted =
    violations.length > maxPrintedViolations ? [`  and ${violations.length - maxPrintedViolations} more`] : []
  const verdict =
    violations.length === 0
      ? ['The claim holds.']
      : ['The claim does not hold:', ...violations.slice(0, maxPrintedViolations), ...omitted]
  return [...lines, ...verdict].join('\n')
}

/**
 * Returns a quantile by the nearest-rank method; NaN if there are no values.
 * @param share from 0 to 1, such as 0.99
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}
