import { listLimits, maxCountedVaults } from '../../../limits.ts'
import { countVaults } from '../../../database/read/vault-lists/count.ts'
import { allStrategies, type VaultFilter } from '../../../database/read/vault-lists/filter.ts'
import {
  type Direction as OrderDirection,
  type VaultCursor,
  vaultOrders,
  type VaultOrderName,
} from '../../../database/read/vault-lists/order.ts'
import { type PagedVaultRow, readVaultPages, type VaultPageRequest } from '../../../database/read/vault-lists/page.ts'
import type { VaultRow } from '../../../database/read/rows.ts'
import { InvalidArgument } from '../../../domain/errors.ts'
import { requireWithin } from '../arguments.ts'
import { builder } from '../builder.ts'
import { connectionType, decodeCursor, encodeCursor, type Page, pageOf } from '../connection.ts'
import type { ResolverContext } from '../../execution/context.ts'
import { groupRowsByKey, createLoader } from '../../execution/data-loaders.ts'
import { VaultType } from '../vault.ts'
import { filterOf, longReadsOfList, VaultWhere, type WhereArgument } from './vault-where.ts'

const loadPage = createLoader('vault pages', async (reader, lists: readonly string[], page: VaultPageRequest) =>
  groupRowsByKey(lists, await readVaultPages(reader, lists, page), (vault) => vault.list),
)

const loadCount = createLoader('vault counts', async (reader, lists: readonly string[], filter: VaultFilter) => {
  const counts = await countVaults(reader, lists, filter)
  return new Map(counts.map(({ list, count }) => [list, count ?? tooManyToCount()]))
})

function tooManyToCount(): Error {
  const problem = `is by value, pair or venue, which more than ${maxCountedVaults} vaults have, once per pool: they are listed, but not counted`
  return new InvalidArgument('where', problem)
}

const VaultConnection = connectionType<VaultRow>('Vault', VaultType, 'vaults')

const VaultOrderField = builder.enumType('VaultOrderField', {
  description: 'Fields by which vaults can be ordered.',
  values: {
    VALUE_USD: { description: 'Their value now, in USD.' },
    NET_USD: { description: 'Their gain net of flows, in USD.' },
    STRATEGY_DELTA_USD: { description: "The strategy's part of their gain, in USD." },
    CAPITAL_IN_USD: { description: 'Capital deposited so far, in USD.' },
    UPDATED_AT: { description: 'Time of their newest fact.' },
    ADDRESS: { description: 'Their address, by its hexadecimal digits.' },
  } satisfies Record<VaultOrderName, unknown>,
})

const Direction = builder.enumType('Direction', {
  description: 'Which way an order goes.',
  values: { ASC: { description: 'The least first.' }, DESC: { description: 'The greatest first.' } },
})

const VaultOrderInput = builder.inputType('VaultOrder', {
  description: 'The order of vaults; between equals the address decides.',
  fields: (t) => ({
    field: t.field({ type: VaultOrderField, required: true, description: 'The field to order by.' }),
    direction: t.field({ type: Direction, required: true, defaultValue: 'DESC', description: 'Which way.' }),
  }),
})

const pageArguments = builder.args((t) => ({
  first: t.int({
    required: true,
    defaultValue: listLimits.vaults.default,
    description: `How many vaults at most, ${listLimits.vaults.min} to ${listLimits.vaults.max}.`,
  }),
  after: t.string({ description: 'The cursor of the vault before the page.' }),
  last: t.int({
    description: `A page of as many vaults at most that ends with the last one, or before \`before\`, ${listLimits.vaults.min} to ${listLimits.vaults.max}: \`first\` has no effect then.`,
  }),
  before: t.string({ description: 'The cursor of the vault after the page, with `last`.' }),
  where: t.field({ type: VaultWhere, description: 'Only vaults that match.' }),
  orderBy: t.field({
    type: VaultOrderInput,
    required: true,
    defaultValue: { field: 'VALUE_USD', direction: 'DESC' },
    description: 'In which order.',
  }),
}))

interface PageArguments {
  first: number
  after?: string | null | undefined
  last?: number | null | undefined
  before?: string | null | undefined
  where?: WhereArgument | null | undefined
  orderBy: { field: VaultOrderName; direction: OrderDirection }
}

async function vaultPage(context: ResolverContext, list: string, args: PageArguments): Promise<Page<VaultRow>> {
  const { field: orderBy, direction } = args.orderBy
  const filter = filterOf(args.where)
  const { length, isBackward, cursor } = requestedPage(args)
  const after = cursor == null ? null : readCursor(isBackward ? 'before' : 'after', cursor, orderBy)
  const page = { filter, orderBy, direction: isBackward ? opposite[direction] : direction, first: length, after }
  const rows = (await loadPage(context, list, page)) ?? []
  // The page ends at the first `isLastExamined`: later vaults of that part of the list were not examined.
  const end = rows.findIndex(({ isLastExamined }) => isLastExamined)
  const examined = end === -1 ? rows : rows.slice(0, end + 1)
  return pageOf<PagedVaultRow>({
    rows: examined.filter(({ isMatch }) => isMatch),
    lastExamined: end === -1 ? undefined : rows[end],
    length,
    isBackward,
    cursor,
    cursorOf: (vault) => encodeCursor([orderBy, vault.orderValue, vault.address]),
    totalCount: async () => (await loadCount(context, list, filter)) ?? 0,
  })
}

const opposite: Record<OrderDirection, OrderDirection> = { ASC: 'DESC', DESC: 'ASC' }

/**
 * Returns the length of the page, its direction, and its cursor.
 * @throws {InvalidArgument} if the arguments of both are mixed
 */
function requestedPage({ first, after, last, before }: PageArguments) {
  if (last == null) {
    if (before != null) throw new InvalidArgument('before', 'is given without last')
    return { length: requireWithin('first', first, listLimits.vaults), isBackward: false, cursor: after }
  }
  if (after != null) throw new InvalidArgument('last', 'is given with after')
  return { length: requireWithin('last', last, listLimits.vaults), isBackward: true, cursor: before }
}

function readCursor(argument: string, cursor: string, orderBy: VaultOrderName): VaultCursor {
  const valuePattern = cursorValues[vaultOrders[orderBy].type]
  const isOurs = (parts: unknown[]): parts is [VaultOrderName, string, string] =>
    parts.length === 3 && parts[0] === orderBy && isLike(valuePattern, parts[1]) && isLike(address, parts[2])
  const [, value, vault] = decodeCursor(argument, cursor, isOurs)
  return { value, address: vault }
}

const address = /^0x[0-9a-fA-F]{40}$/
/** Valid cursor values by the type of an order's column: amounts, times and addresses. */
const cursorValues = { numeric: /^-?\d{1,32}(\.\d{1,6})?$/, bigint: /^\d{1,12}$/, text: address }

function isLike(pattern: RegExp, value: unknown): boolean {
  return typeof value === 'string' && pattern.test(value)
}

builder.queryField('vaults', (t) =>
  t.field({
    type: VaultConnection,
    description: 'Vaults, the most valuable first unless another order is requested.',
    args: pageArguments,
    extensions: longReadsOfList,
    resolve: (_, args, context) => vaultPage(context, allStrategies, args),
  }),
)

builder.prismaObjectField('Strategy', 'vaults', (t) =>
  t.field({
    type: VaultConnection,
    description: 'The vaults that run the strategy, the most valuable first unless another order is requested.',
    args: pageArguments,
    extensions: longReadsOfList,
    resolve: (strategy, args, context) => vaultPage(context, strategy.id, args),
  }),
)
