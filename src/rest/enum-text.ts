/** Cached texts of enum values, of which there are few. */
const texts = new Map<string, string>()

/** Converts the name of an enum value to the interface's text: `STOCK_TOKEN` to `stock token`. */
export function enumText(value: string): string {
  const known = texts.get(value) ?? value.toLowerCase().replaceAll('_', ' ')
  texts.set(value, known)
  return known
}

/** Returns the texts of all values of an enum. */
export function enumTexts(values: Readonly<Record<string, string>>): string[] {
  return Object.values(values).map(enumText)
}
