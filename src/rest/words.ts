/** A value of an enum in the words of the interface: `STOCK_TOKEN` is `stock token`. */
export function word(value: string): string {
  return value.toLowerCase().replaceAll('_', ' ')
}

/** The values of an enum in the words of the interface. */
export function wordsOf(values: Readonly<Record<string, string>>): string[] {
  return Object.values(values).map(word)
}
