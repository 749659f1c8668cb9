/** A decimal with more digits than a float holds: it is served as the JSON number its text is. */
export class ExactNumber {
  constructor(readonly text: string) {}

  /** A string that no text of the read model can be, since PostgreSQL stores no NUL; `stringify` makes it a number. */
  toJSON(): string {
    return `\0${this.text}`
  }
}

/** So many digits any float keeps. */
const surelyExact = 15

/** The float that prints as this decimal, or the decimal itself where there is none. */
export function exactNumber(decimal: string): number | ExactNumber {
  const number = Number(decimal)
  if (decimal.length <= surelyExact) return number
  const shortest = decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal
  return String(number) === shortest ? number : new ExactNumber(shortest)
}

/** JSON text in which exact numbers stand as numbers. */
export function stringify(value: unknown): string {
  const json = JSON.stringify(value)
  return json.includes('"\\u0000') ? json.replace(/"\\u0000(-?\d+(?:\.\d+)?)"/g, '$1') : json
}

/** JSON text of a decimal: that of the number `exactNumber` makes of it. */
export function exactText(decimal: string): string {
  let end = decimal.length
  if (decimal.includes('.')) {
    while (decimal.charCodeAt(end - 1) === zero) end--
    if (decimal.charCodeAt(end - 1) === point) end--
  }
  const text = decimal.slice(0, end)
  return text === '-0' ? '0' : text
}

const [zero, point] = [48, 46]
