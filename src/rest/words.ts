/** Cached texts of enum values, of which there are few. */
const written = new Map<string, string>()

/** Converts the name of an enum value to the interface's text: `STOCK_TOKEN` to `stock token`. */
export function word(value: string): string {
  const known = written.get(value) ?? value.toLowerCase().replaceAll('_', ' ')
  written.set(value, known)
  return known
}

/** Returns the texts of all values of an enum. */
export function wordsOf(values: Readonly<Record<string, string>>): string[] {
  return Object.values(values).map(word)
}
