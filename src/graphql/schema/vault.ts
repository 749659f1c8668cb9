import { readHistoryStarts, readVaultsAt } from '../../database/read/past/vault-at.ts'
import type { VaultRow } from '../../database/read/rows.ts'
import { readVaults } from '../../database/read/vault.ts'
import { HistoryNotKept } from '../../domain/errors.ts'
import { vaultGlobalId } from '../../domain/identity/global-id.ts'
import { builder } from './builder.ts'
import type { ResolverContext } from '../execution/context.ts'
import { createLoader } from '../execution/data-loaders.ts'
import { NodeInterface } from './node/node-interface.ts'
import { loadPositionsOf, PositionType } from './vault-state/position.ts'

export const loadVault = createLoader('vaults', async (reader, addresses: readonly string[]) => {
  const vaults = await readVaults(reader, addresses)
  return new Map(vaults.map((vault) => [vault.address, vault]))
})

const loadStateAt = createLoader('vaults at', async (reader, addresses: readonly string[], at: number) =>
  readVaultsAt(reader, addresses, at),
)

/**
 * Loads a vault as it was at the end of a second; undefined if it did not exist.
 * @param at Unix seconds; null for the current state
 * @throws {HistoryNotKept} if its state at that time is not stored
 */
export async function loadVaultAt(
  context: ResolverContext,
  address: string,
  at: number | null | undefined,
): Promise<VaultRow | undefined> {
  if (at == null) return loadVault(context, address, null)
  const found = await loadStateAt(context, address, at)
  if (found !== undefined && 'historySince' in found) throw new HistoryNotKept(address, at, found.historySince)
  return found
}

const loadHistoryStart = createLoader('history starts', async (reader, addresses: readonly string[]) => {
  const starts = await readHistoryStarts(reader, addresses)
  return new Map(starts.map(({ vault, since }) => [vault, since]))
})

export const VaultStatusEnum = builder.enumType('VaultStatus', {
  description:
    'The state of a vault, the first that applies: suspended; exiting, planting (an event started it and it has not ended); idle (no value, no position); planting (value, no position yet); attention (a position out of range); earning.',
  values: {
    IDLE: { value: 'idle', description: 'It has no value and no open position.' },
    PLANTING: {
      value: 'planting',
      description:
        'It puts capital into positions: an event started it and it has not ended, or it has value and no position yet.',
    },
    EARNING: { value: 'earning', description: 'All of its positions are in range.' },
    ATTENTION: { value: 'attention', description: 'At least one of its positions is out of range.' },
    EXITING: { value: 'exiting', description: 'It leaves its positions, until it is empty.' },
    SUSPENDED: { value: 'suspended', description: 'It is suspended; exits remain possible.' },
  } as const,
})

const FeeSummary = builder.objectRef<VaultRow>('FeeSummary').implement({
  description:
    'Fee summary of a vault, in USD: capital contributed and withdrawn, fees taken, and the gain at the high-water mark. As stated by the newest mark that has a summary; until then derived from flows, fee events and gains. A mark can also state the high-water mark alone.',
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
  description: 'The suspension of a suspended vault.',
  fields: (t) => ({
    reason: t.exposeString('reason', { description: 'Why the vault was suspended.' }),
    since: t.expose('since', { type: 'UnixTime', description: 'Since when, in Unix seconds.' }),
    exitsAvailable: t.boolean({
      description: 'Always true: exits remain possible while suspended.',
      resolve: () => true,
    }),
  }),
})

export const VaultType = builder.prismaObject('Vault', {
  description: 'A capital vault that runs an automated liquidity-provision strategy.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id({
      description:
        'Identifier of the vault, unique over all types: its address; at a moment in the past also `@` and that moment, so that it is another object than the vault as it is now.',
      resolve: ({ address, moment }) => vaultGlobalId(address, moment === null ? null : moment.at),
    }),
    address: t.expose('address', { type: 'Address', description: 'Address of the vault.' }),
    owner: t.expose('owner', { type: 'Address', description: "Address of the vault's owner." }),
    chainId: t.expose('chainId', {
      type: 'Float',
      nullable: true,
      description: 'Identifier of its chain (EIP-155), an integer; null where its feed does not say it.',
    }),
    strategyId: t.exposeID('strategyId', { description: 'Identifier of the strategy it runs.' }),
    status: t.expose('status', { type: VaultStatusEnum, description: 'Its state, derived from its facts.' }),
    valueUsd: t.expose('valueUsd', { type: 'Usd', description: 'Its value, in USD.' }),
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
      resolve: loadPositionsOf,
    }),
    fees: t.field({
      type: FeeSummary,
      description: 'Its fee summary: that of its newest mark with one, else derived.',
      resolve: (vault) => vault,
    }),
    suspension: t.field({
      type: Suspension,
      nullable: true,
      description: 'Its suspension; null if it is not suspended.',
      resolve: ({ suspensionReason: reason, suspendedAt: since }) =>
        reason === null || since === null ? null : { reason, since },
    }),
    updatedAt: t.expose('updatedAt', { type: 'UnixTime', description: 'Time of its newest fact, in Unix seconds.' }),
    isFinal: t.boolean({
      description:
        'Whether this state can never change: of a moment before its newest fact, since older facts are refused. Only its chainId may become known later, and its strategy is the entry that the catalogue has now. False for the vault as it is now.',
      resolve: ({ moment }) => moment !== null && !moment.isNewest,
    }),
    historySince: t.field({
      type: 'UnixTime',
      description:
        'Start of its recorded history, in Unix seconds; its state can be queried at this and any later time.',
      resolve: async (vault, _, context) => (await loadHistoryStart(context, vault.address, null)) ?? vault.updatedAt,
    }),
  }),
})

builder.queryField('vault', (t) =>
  t.field({
    type: VaultType,
    nullable: true,
    description: 'The vault at an address; null if none is known, or if it was not yet open at the requested time.',
    args: {
      address: t.arg({ type: 'Address', required: true, description: 'Address of the vault.' }),
      at: t.arg({
        type: 'UnixTime',
        description:
          'The moment, in Unix seconds: the vault is as all of its facts up to and in this second left it. Without it, and after its newest fact, it is as it is now. An error with the code HISTORY_NOT_KEPT and historySince where that is not kept. Its strategy is the entry that the catalogue has now.',
      }),
    },
    resolve: (_, { address, at }, context) => loadVaultAt(context, address, at),
  }),
)
