import type { PositionRow, VaultRow } from '../../../database/read/rows.ts'
import { readPositions } from '../../../database/read/vault.ts'
import { positionsOfMark, readMarkStates } from '../../../database/read/past/positions-at.ts'
import { positionGlobalId } from '../../../domain/identity/global-id.ts'
import type { ResolverContext } from '../../execution/context.ts'
import { groupRowsByKey, createLoader } from '../../execution/data-loaders.ts'
import { builder } from '../builder.ts'
import { NodeInterface } from '../node/node-interface.ts'

export const loadPositions = createLoader('positions', async (reader, addresses: readonly string[]) =>
  groupRowsByKey(addresses, await readPositions(reader, addresses), (position) => position.vaultAddress),
)

const loadMarkState = createLoader('mark states', (reader, addresses: readonly string[], ts: number) =>
  readMarkStates(reader, addresses, ts),
)

/** Resolves the positions of a vault at its moment, in the order of its newest mark at that time. */
export async function loadPositionsOf(
  { address, moment }: VaultRow,
  _: unknown,
  context: ResolverContext,
): Promise<readonly PositionRow[]> {
  if (moment === null) return (await loadPositions(context, address, null)) ?? []
  const { at, mark } = moment
  if (moment.isNewest) {
    const newest = (await loadPositions(context, address, null)) ?? []
    return newest.map((position) => ({ ...position, at }))
  }
  if (mark === null) return []
  const state = mark.state ?? (await loadMarkState(context, address, mark.ts))
  return state === undefined ? [] : positionsOfMark({ ...mark, state }, address, at)
}

const Pool = builder.objectRef<PositionRow>('Pool').implement({
  description: 'The pool a position provides liquidity to.',
  fields: (t) => ({
    a: t.exposeString('a', { description: 'Symbol of the base asset.' }),
    b: t.exposeString('b', { description: 'Symbol of the quote asset.' }),
    venue: t.exposeString('venue', { description: 'Where the pool is.' }),
    feeTier: t.exposeInt('feeTier', { description: "The pool's fee in hundredths of a basis point: 500 is 0.05 %." }),
  }),
})

const PriceRange = builder.objectRef<PositionRow>('PriceRange').implement({
  description: 'Bounds of a position and where the market stands, as prices: units of b for one a.',
  fields: (t) => ({
    lower: t.expose('priceLower', { type: 'Price', description: 'Lower bound, in units of b for one a.' }),
    upper: t.expose('priceUpper', { type: 'Price', description: 'Upper bound, in units of b for one a.' }),
    current: t.expose('priceCurrent', {
      type: 'Price',
      description: "The pool's price at the newest mark, in units of b for one a.",
    }),
  }),
})

const TickRange = builder.objectRef<{ lower: number; upper: number; current: number }>('TickRange').implement({
  description: "Bounds of a position and where the market stands, as the pool's ticks.",
  fields: (t) => ({
    lower: t.exposeInt('lower', { description: 'Lower bound, a tick: in range from it on.' }),
    upper: t.exposeInt('upper', { description: 'Upper bound, a tick: in range below it.' }),
    current: t.exposeInt('current', { description: "The pool's tick at the newest mark." }),
  }),
})

export const PositionType = builder.prismaObject('Position', {
  description: 'An open position of a vault, as its newest mark shows it.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id({
      description:
        "Identifier of the position, unique over all types: its vault's id, `/position/` and its positionId.",
      resolve: ({ vaultAddress, at, id }) => positionGlobalId(vaultAddress, id, at),
    }),
    positionId: t.exposeString('id', {
      description: "Identifier that the vault's marks and events give the position, unique within the vault only.",
    }),
    pool: t.field({ type: Pool, description: 'Where it provides liquidity.', resolve: (position) => position }),
    range: t.field({
      type: PriceRange,
      description: 'Its bounds and the market, in prices.',
      resolve: (position) => position,
    }),
    ticks: t.field({
      type: TickRange,
      nullable: true,
      description: 'Its bounds and the market, in ticks; null where the mark gave none.',
      resolve: ({ tickLower: lower, tickUpper: upper, tickCurrent: current }) =>
        lower === null || upper === null || current === null ? null : { lower, upper, current },
    }),
    inRange: t.exposeBoolean('inRange', {
      description: 'Whether lower <= current < upper, by ticks where they are known, else by prices.',
    }),
    pendingRewardsUsd: t.expose('pendingRewardsUsd', {
      type: 'Usd',
      description: 'Rewards not collected yet, in USD.',
    }),
  }),
})
