import type { GraphQLError } from 'graphql'

/**
 * Sorts the errors of an execution: in the order of their fields in the document, and those of one field by their paths. graphql-js
 * lists them in the order in which they occur, which depends on the durations of reads.
 */
export function inDocumentOrder(errors: readonly GraphQLError[]): GraphQLError[] {
  return [...errors].sort((a, b) => positionOf(a) - positionOf(b) || comparePaths(a.path ?? [], b.path ?? []))
}

/** Returns the position of the field of an error in its document. */
function positionOf({ positions }: GraphQLError): number {
  return positions?.[0] ?? 0
}

/** A path in a result: response keys, and indices of lists. */
type ResultPath = NonNullable<GraphQLError['path']>

function comparePaths(a: ResultPath, b: ResultPath): number {
  const at = a.findIndex((key, index) => key !== b[index])
  const [own, other] = [a[at], b[at]]
  if (own === undefined || other === undefined) return a.length - b.length
  if (typeof own === 'number' && typeof other === 'number') return own - other
  return String(own) < String(other) ? -1 : 1
}
