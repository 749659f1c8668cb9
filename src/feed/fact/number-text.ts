/** A JSON number that is not a safe integer, as text, so that it is never converted to a float. */
export class NumberText {
  constructor(readonly text: string) {}
}

/** Converts the text of a JSON number: to a number where it is a safe integer, else to the text itself. */
export function readNumber(text: string): number | NumberText {
  const value = Number(text)
  return /^-?\d+$/.test(text) && Number.isSafeInteger(value) ? value : new NumberText(text)
}
