import type { GraphQLField } from 'graphql'

/**
 * Additional costs of the reads of a field that are long (`isLong` of a statement); null for reads that are not. Long reads share
 * few connections, so that an operation with any of them is limited by them in admission control.
 */
export interface LongReads {
  /** Cost of the field's own read. */
  readonly own: number | null
  /** Cost of the count of the field's connection, in place of `readCost`. */
  readonly count: number | null
}

/** Returns the long reads of a field with these arguments, which are coerced; only those that affect its cost are given. */
export type LongReadsByArguments = (given: Readonly<Record<string, unknown>>) => LongReads

/** Extensions of a field of the schema, by which it declares its long reads. */
interface LongReadExtensions extends Readonly<Record<string, unknown>> {
  readonly longReads: LongReadsByArguments
}

const noLongReads: LongReads = { own: null, count: null }
const onlyOwn: LongReads = { own: 0, count: null }

/** Extensions of a field whose read is long whatever its arguments; its cost includes that already. */
export const ownLongRead: LongReadExtensions = { longReads: () => onlyOwn }

/** Creates the extensions of a field whose reads are long with some arguments. */
export function declareLongReads(
  longReads: (given: Readonly<Record<string, unknown>>) => Partial<LongReads>,
): LongReadExtensions {
  return { longReads: (given) => ({ ...noLongReads, ...longReads(given) }) }
}

/** Returns the long reads that a field of the schema declares. */
export function longReadsOf({ extensions }: GraphQLField<unknown, unknown>): LongReadsByArguments {
  const { longReads } = extensions
  return typeof longReads === 'function' ? (longReads as LongReadsByArguments) : () => noLongReads
}
