/** The few that there are, each written once. */
const written = new Map<string, string>()

/** A value of an enum in the words of the interface: `STOCK_TOKEN` is `stock token`. */
export function word(value: string): string {
  const known = written.get(value) ?? value.toLowerCase().replaceAll('_', ' ')
  written.set(value, known)
  return known
}

/** The values of an enum in the words of the interface. */
export function wordsOf(values: Readonly<Record<string, string>>): string[] {
  return Object.values(values).map(word)
}
