import type { PositionRow, VaultRow } from '../../database/read/rows.ts'
import { readPositions, readVaults } from '../../database/read/vault.ts'
import { positionGlobalId } from '../../domain/identity/global-id.ts'
import { builder } from './builder.ts'
import { groupRowsByKey, createLoader } from '../execution/data-loaders.ts'
import { NodeInterface } from './node/node-interface.ts'

export const loadVault = createLoader('vaults', async (database, addresses: readonly string[]) => {
  const vaults = await readVaults(database, addresses)
  return new Map(vaults.map((vault) => [vault.address, vault]))
})

export const loadPositions = createLoader('positions', async (database, addresses: readonly string[]) =>
  groupRowsByKey(addresses, await readPositions(database, addresses), (position) => position.vaultAddress),
)

export const VaultStatusEnum = builder.enumType('VaultStatus', {
  description:
    'The state of a vault: the first that applies of suspended, exiting, planting, idle, planting, attention, earning.',
  values: {
    IDLE: { value: 'idle', description: 'It holds no capital.' },
    PLANTING: {
      value: 'planting',
      description: 'It puts capital into positions: begun, or with value and no position yet.',
    },
    EARNING: { value: 'earning', description: 'All of its positions are in range.' },
    ATTENTION: { value: 'attention', description: 'At least one of its positions is out of range.' },
    EXITING: { value: 'exiting', description: 'It leaves its positions, until it is empty.' },
    SUSPENDED: { value: 'suspended', description: 'It is suspended; exits remain possible.' },
  } as const,
})

const FeeSummary = builder.objectRef<VaultRow>('FeeSummary').implement({
  description:
    'Fees that a vault has paid, and the figure that they are reckoned from. All in USD. As the newest mark with a summary tells them; until there is one, derived from flows, fee events and gains.',
  fields: (t) => ({
    contributedUsd: t.expose('feesContributedUsd', { type: 'Usd', description: 'Capital contributed, in USD.' }),
    withdrawnUsd: t.expose('feesWithdrawnUsd', { type: 'Usd', description: 'Capital withdrawn, in USD.' }),
    taxedUsd: t.expose('feesTaxedUsd', { type: 'Usd', description: 'Fees taken, in USD.' }),
    highWaterUsd: t.expose('feesHighWaterUsd', {
      type: 'Usd',
      description: 'High-water mark of the gain, in USD: only what exceeds it is charged a fee.',
    }),
  }),
})

const Suspension = builder.objectRef<{ reason: string; since: number }>('Suspension').implement({
  description: 'A suspension that stands.',
  fields: (t) => ({
    reason: t.exposeString('reason', { description: 'Why the vault was suspended.' }),
    since: t.expose('since', { type: 'UnixTime', description: 'Since when, in Unix seconds.' }),
    exitsAvailable: t.boolean({
      description: 'Always true: exits remain possible while suspended.',
      resolve: () => true,
    }),
  }),
})

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

const PositionType = builder.prismaObject('Position', {
  description: 'An open position of a vault, as its newest mark shows it.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id({
      description:
        "Identifier of the position, unique over all types: its vault's address, `/position/` and its positionId.",
      resolve: ({ vaultAddress, id }) => positionGlobalId(vaultAddress, id),
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

export const VaultType = builder.prismaObject('Vault', {
  description: 'A capital vault that runs an automated liquidity-provision strategy.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.exposeID('address', { description: 'Identifier of the vault, unique over all types: its address.' }),
    address: t.expose('address', { type: 'Address', description: 'Address of the vault.' }),
    owner: t.expose('owner', { type: 'Address', description: "Address of the vault's owner." }),
    chainId: t.expose('chainId', {
      type: 'Float',
      nullable: true,
      description: 'Identifier of its chain (EIP-155), an integer; null where its feed does not say it.',
    }),
    strategyId: t.exposeID('strategyId', { description: 'Identifier of the strategy it runs.' }),
    status: t.expose('status', { type: VaultStatusEnum, description: 'Its state, derived from its facts.' }),
    valueUsd: t.expose('valueUsd', { type: 'Usd', description: 'Its value now, in USD.' }),
    capitalInUsd: t.expose('capitalInUsd', { type: 'Usd', description: 'Capital deposited so far, in USD.' }),
    capitalOutUsd: t.expose('capitalOutUsd', { type: 'Usd', description: 'Capital withdrawn so far, in USD.' }),
    netUsd: t.expose('netUsd', {
      type: 'Usd',
      description: 'Gain net of flows, in USD: valueUsd + capitalOutUsd - capitalInUsd, exactly.',
    }),
    strategyDeltaUsd: t.expose('strategyDeltaUsd', {
      type: 'Usd',
      description:
        "The strategy's part of netUsd, in USD: what the market's leaves, so that the two sum to it exactly.",
    }),
    marketDeltaUsd: t.expose('marketDeltaUsd', {
      type: 'Usd',
      description: "The market's part of netUsd, in USD: what the vault's own deposits would have gained, simply held.",
    }),
    positions: t.field({
      type: [PositionType],
      description: "Its open positions, in the newest mark's order.",
      resolve: async (vault, _, context) => (await loadPositions(context, vault.address, null)) ?? [],
    }),
    fees: t.field({
      type: FeeSummary,
      description: 'Its fee summary: that of its newest mark with one, else derived.',
      resolve: (vault) => vault,
    }),
    suspension: t.field({
      type: Suspension,
      nullable: true,
      description: 'Its suspension; null where none stands.',
      resolve: ({ suspensionReason: reason, suspendedAt: since }) =>
        reason === null || since === null ? null : { reason, since },
    }),
    updatedAt: t.expose('updatedAt', { type: 'UnixTime', description: 'Time of its newest fact, in Unix seconds.' }),
  }),
})

builder.queryField('vault', (t) =>
  t.field({
    type: VaultType,
    nullable: true,
    description: 'The vault at an address; null where none is known.',
    args: { address: t.arg({ type: 'Address', required: true, description: 'Address of the vault.' }) },
    resolve: (_, { address }, context) => loadVault(context, address, null),
  }),
)
