/** Names and values in turn, as node:http takes them: an object put together for each answer would cost more. */
export type HeaderList = readonly string[]

export function headerList(headers: Readonly<Record<string, string>>): HeaderList {
  return Object.entries(headers).flat()
}

export function pairsOf(headers: HeaderList): [name: string, value: string][] {
  return headers.flatMap((name, place) => (place % 2 === 0 ? [[name, headers[place + 1] ?? '']] : []))
}
