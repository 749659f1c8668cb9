import { randomBytes } from 'node:crypto'

/** Text that no earlier call has given. */
export function unique(): string {
  return `u${randomBytes(8).toString('hex')}`
}

export function times(count: number, part: (index: number) => string, separator = ' '): string {
  return Array.from({ length: count }, (_, index) => part(index)).join(separator)
}

/** A document in a text that was never asked. */
export function never(query: string): string {
  return `${query} # ${unique()}`
}

/** Nearly as many tokens and bytes as a document may have: fields with many arguments, in as many selections as fit. */
export function largeDocument(address: string): string {
  return never(
    `{ ${times(48, (at) => `a${at}: vault(address: "${address}") { equity(since: ${at}, points: 2) { ts valueUsd netUsd } }`)} } ${padding}`,
  )
}

/** As many fragments as the tokens allow, each spread in the others' place, so that all pairs are compared. */
export function fragmentsDocument(): string {
  const count = 95
  return never(
    `{ strategies { ${times(count, (at) => `...f${at}`)} } } ${times(count, (at) => `fragment f${at} on Strategy { id name }`)}`,
  )
}

/** One response name as often as the tokens allow: each pair of them is compared, selections too. */
export function overlappingDocument(isConflicting: boolean): string {
  return never(
    isConflicting
      ? `{ ${times(120, (at) => `vaults(first: ${at + 1}) { totalCount }`)} }`
      : `{ ${times(120, () => 'vaults(first: 1) { totalCount }')} }`,
  )
}

/** Selections of one response name at each level, so that the pairs multiply from level to level. */
export function nestedOverlaps(): string {
  const inner = (depth: number): string =>
    depth === 0
      ? 'id'
      : `vaults(first: 1) { nodes { strategy { ${inner(depth - 1)} } } } vaults(first: 1) { nodes { strategy { ${inner(depth - 1)} } } }`
  return never(`{ strategies { ${inner(4)} } }`)
}

/** A short document that stands for some ten thousand fields: what is worked out of each of them is large. */
export function fragmentsOfFields(): string {
  const aliased = (count: number, field: string): string => times(count, (at) => `a${at}: ${field}`)
  return never(`{ ${aliased(10, 'vaults(first: 1) { ...C }')} }
    fragment C on VaultConnection { ${aliased(7, 'nodes { ...V }')} }
    fragment V on Vault { ${aliased(14, 'strategy { ...S }')} }
    fragment S on Strategy { ${aliased(15, 'name')} id name tagline description liveApr sigma }`)
}

/** Names that are nearly those of fields: each is compared with all of them for a suggestion. */
export function errorsDocument(): string {
  return never(`{ strategies { ${times(900, (at) => `strategyNam${at}`)} } }`)
}

/** Nothing but a comment, which is read, kept and compared as all else of a text. */
const padding = `# ${'x'.repeat(12_000)}`

export const introspection = `{ __schema { types { kind name description
  fields(includeDeprecated: true) { name description args { name description type { ...t } defaultValue } type { ...t } }
  inputFields { name type { ...t } defaultValue } enumValues(includeDeprecated: true) { name description } }
  directives { name locations args { name type { ...t } } } } }
  fragment t on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`
