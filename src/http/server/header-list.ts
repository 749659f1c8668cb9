/**
 * Alternating names and values, a format that node:http accepts: building an object for each response would cost more.
 */
export type HeaderList = readonly string[]

/** Converts a record of headers into a header list. */
export function headerList(headers: Readonly<Record<string, string>>): HeaderList {
  const list: string[] = []
  // Entries made flat would be an array for each header of each response.
  for (const name in headers) list.push(name, headers[name] as string)
  return list
}

/** Returns the name and value pairs of a header list. */
export function pairsOf(headers: HeaderList): [name: string, value: string][] {
  return headers.flatMap((name, place) => (place % 2 === 0 ? [[name, headers[place + 1] ?? '']] : []))
}
