import type { Pair, ValueRange, VaultFilter } from '../../../database/read/vault-lists/filter.ts'
import { Decimal } from '../../../domain/decimal.ts'
import { InvalidArgument } from '../../../domain/errors.ts'
import { type VaultStatus, vaultStatuses } from '../../../domain/vault.ts'
import { filterCosts, maxFilterValues, maxPools } from '../../../limits.ts'
import { declareLongReads } from '../../execution/cost/long-reads.ts'
import { distinct, requireAtMost, searchable } from '../arguments.ts'
import { builder } from '../builder.ts'
import { VaultStatusEnum } from '../vault.ts'

const UsdRange = builder.inputType('UsdRange', {
  description: 'Amounts in USD from one bound to the other, both included.',
  fields: (t) => ({
    gte: t.field({ type: 'Usd', description: 'The least, in USD; none if it is left out.' }),
    lte: t.field({ type: 'Usd', description: 'The greatest, in USD; none if it is left out.' }),
  }),
})

const PairWhere = builder.inputType('PairWhere', {
  description: 'A pair of assets, as the pools of positions have them.',
  fields: (t) => ({
    a: t.string({ required: true, description: 'Symbol of the base asset.' }),
    b: t.string({ required: true, description: 'Symbol of the quote asset.' }),
  }),
})

export const VaultWhere = builder.inputType('VaultWhere', {
  description:
    'Which vaults: those that match every key given, by any of its values. With both pair and venue, one position matches both.',
  fields: (t) => ({
    status: t.field({ type: [VaultStatusEnum], description: 'Vaults in one of these states.' }),
    strategy: t.idList({ description: 'Vaults that run one of these strategies, by id.' }),
    owner: t.field({ type: ['Address'], description: 'Vaults of one of these owners.' }),
    valueUsd: t.field({ type: UsdRange, description: 'Vaults of such a value now, in USD.' }),
    pair: t.field({ type: [PairWhere], description: 'Vaults with an open position of one of these pairs.' }),
    venue: t.stringList({ description: 'Vaults with an open position at one of these venues.' }),
  }),
})

interface RangeArgument {
  gte?: string | null | undefined
  lte?: string | null | undefined
}

/** A value of `VaultWhere`. */
export interface WhereArgument {
  status?: VaultStatus[] | null | undefined
  strategy?: string[] | null | undefined
  owner?: string[] | null | undefined
  valueUsd?: RangeArgument | null | undefined
  pair?: Pair[] | null | undefined
  venue?: string[] | null | undefined
}

/** Filters by argument: the lists of all strategies of a catalogue have one argument object. */
const filters = new WeakMap<WhereArgument, VaultFilter>()

/**
 * Returns the filter of an argument `where`, which is converted once.
 * @throws {InvalidArgument} if it has too many values, or an empty range
 */
export function filterOf(where: WhereArgument | null | undefined): VaultFilter {
  if (where == null) return converted(null)
  const filter = filters.get(where) ?? converted(where)
  filters.set(where, filter)
  return filter
}

function converted(where: WhereArgument | null): VaultFilter {
  const texts = (argument: 'strategy' | 'venue', maxValues: number): string[] | null =>
    distinct(argument, where?.[argument], maxValues)?.map((text) => searchable(argument, text)) ?? null
  return {
    status: distinct('status', where?.status, vaultStatuses.length),
    strategy: texts('strategy', maxFilterValues),
    owner: distinct('owner', where?.owner, maxFilterValues),
    valueUsd: valueRangeOf(where?.valueUsd),
    pair: where?.pair == null ? null : distinctPairs(requireAtMost('pair', where.pair, maxPools)),
    venue: texts('venue', maxPools),
  }
}

/**
 * Long reads of a list of vaults: its page by a filter without an ordered index, and its count by a filter without tallies.
 * An empty range counts as a filter.
 */
export const longReadsOfList = declareLongReads(({ where, orderBy }) => {
  const { pair, venue, valueUsd } = (where ?? {}) as WhereArgument
  const isByPool = pair != null || venue != null
  if (!isByPool && valueUsd == null) return {}
  const isInOrder = !isByPool && (orderBy as { readonly field?: unknown } | undefined)?.field === 'VALUE_USD'
  return { count: filterCosts.count, ...(!isInOrder && { own: filterCosts.list }) }
})

function valueRangeOf(range: RangeArgument | null | undefined): ValueRange | null {
  const { gte = null, lte = null } = range ?? {}
  if (gte === null && lte === null) return null
  if (gte === null || lte === null || new Decimal(gte).lessThanOrEqualTo(lte)) return { gte, lte }
  throw new InvalidArgument('valueUsd', `is from ${gte} to ${lte}, which no value is`)
}

function distinctPairs(pairs: readonly Pair[]): Pair[] {
  const searchablePairs = pairs.map(({ a, b }) => ({ a: searchable('pair', a), b: searchable('pair', b) }))
  return [...new Map(searchablePairs.map((pair) => [JSON.stringify([pair.a, pair.b]), pair])).values()]
}
