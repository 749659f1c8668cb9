/** Result of a program. */
export interface Finding {
  readonly figures: Readonly<Record<string, string | number>>
  /** Where its claim doesn't hold; none where it does. */
  readonly flaws: readonly string[]
}

/** Is told how far a show is. */
export type Say = (message: string) => void

export const silent: Say = () => undefined

const maxShown = 10

/** A finding as lines to read: its figures, and the first of its flaws. */
export function inLines({ figures, flaws }: Finding): string {
  const width = Math.max(...Object.keys(figures).map((name) => name.length))
  const lines = Object.entries(figures).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
  const more = flaws.length > maxShown ? [`  and ${flaws.length - maxShown} more`] : []
  const verdict = flaws.length === 0 ? ['It holds.'] : ['It does not hold:', ...flaws.slice(0, maxShown), ...more]
  return [...lines, ...verdict].join('\n')
}

/** The value that a share of the values, from 0 to 1, is not above. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}
