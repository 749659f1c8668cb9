import { randomBytes } from 'node:crypto'

/** Returns a GraphQL name that no other call returns. */
export function uniqueName(): string {
  return `u${randomBytes(8).toString('hex')}`
}

/** Joins a number of texts, each made from its index. */
export function repeat(count: number, part: (index: number) => string, separator = ' '): string {
  return Array.from({ length: count }, (_, index) => part(index)).join(separator)
}

/** Appends a unique comment to a document, so that no cache contains its text. */
export function uncached(query: string): string {
  return `${query} # ${uniqueName()}`
}

/** Returns a document close to the limits of tokens and bytes: many aliased fields with arguments. */
export function largeDocument(address: string): string {
  return uncached(
    `{ ${repeat(48, (at) => `a${at}: vault(address: "${address}") { equity(since: ${at}, points: 2) { ts valueUsd netUsd } }`)} } ${padding}`,
  )
}

/**
 * Returns a document with as many fragments as the token limit permits, all spread in one selection: validation
 * compares each pair.
 */
export function fragmentsDocument(): string {
  const count = 95
  return uncached(
    `{ strategies { ${repeat(count, (at) => `...f${at}`)} } } ${repeat(count, (at) => `fragment f${at} on Strategy { id name }`)}`,
  )
}

/**
 * Returns a document that selects one response name as often as the token limit permits: validation compares each pair.
 * @param isConflicting whether the arguments differ, so that the fields cannot be merged
 */
export function overlappingDocument(isConflicting: boolean): string {
  return uncached(
    isConflicting
      ? `{ ${repeat(120, (at) => `vaults(first: ${at + 1}) { totalCount }`)} }`
      : `{ ${repeat(120, () => 'vaults(first: 1) { totalCount }')} }`,
  )
}

/** Returns a document with two selections of one response name at each level: the pairs to compare double per level. */
export function nestedOverlaps(): string {
  const inner = (depth: number): string =>
    depth === 0
      ? 'id'
      : `vaults(first: 1) { nodes { strategy { ${inner(depth - 1)} } } } vaults(first: 1) { nodes { strategy { ${inner(depth - 1)} } } }`
  return uncached(`{ strategies { ${inner(4)} } }`)
}

/** Returns a short document whose fragments expand to some ten thousand fields: large cost and compiled operation. */
export function fragmentsOfFields(): string {
  const aliased = (count: number, field: string): string => repeat(count, (at) => `a${at}: ${field}`)
  return uncached(`{ ${aliased(10, 'vaults(first: 1) { ...C }')} }
    fragment C on VaultConnection { ${aliased(7, 'nodes { ...V }')} }
    fragment V on Vault { ${aliased(14, 'strategy { ...S }')} }
    fragment S on Strategy { ${aliased(15, 'name')} id name tagline description liveApr sigma }`)
}

/** Returns a document with unknown fields whose names resemble real ones: each error message contains suggestions. */
export function errorsDocument(): string {
  return uncached(`{ strategies { ${repeat(900, (at) => `strategyNam${at}`)} } }`)
}

/** A long comment, which increases only the length of a document's text. */
const padding = `# ${'x'.repeat(12_000)}`

/** The introspection query of GraphiQL, shortened. */
export const introspection = `{ __schema { types { kind name description
  fields(includeDeprecated: true) { name description args { name description type { ...t } defaultValue } type { ...t } }
  inputFields { name type { ...t } defaultValue } enumValues(includeDeprecated: true) { name description } }
  directives { name locations args { name type { ...t } } } } }
  fragment t on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`
