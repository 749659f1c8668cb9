import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'
import { namedVaults } from './expressions.ts'
import type { ModelColumns, Tables } from '../prisma/columns.ts'
import { modelCodec } from './row-codec.ts'
import type { PositionRow, VaultRow } from './rows.ts'

/** The columns of a vault: a codec calls it once to record their SQL, and then to decode each row. */
export const columnsOfVault = (c: ModelColumns<{ vault: Tables['vault'] }>): VaultRow => ({
  address: c.raw('vault.address'),
  owner: c.raw('vault.owner'),
  chainId: c.numberOrNull('vault.chain_id'),
  strategyId: c.text('vault.strategy_id'),
  status: c.raw('vault.status'),
  valueUsd: c.raw('vault.value_usd'),
  capitalInUsd: c.raw('vault.capital_in_usd'),
  capitalOutUsd: c.raw('vault.capital_out_usd'),
  netUsd: c.raw('vault.net_usd'),
  strategyDeltaUsd: c.raw('vault.strategy_delta_usd'),
  marketDeltaUsd: c.raw('vault.market_delta_usd'),
  feesContributedUsd: c.raw('vault.fees_contributed_usd'),
  feesWithdrawnUsd: c.raw('vault.fees_withdrawn_usd'),
  feesTaxedUsd: c.raw('vault.fees_taxed_usd'),
  feesHighWaterUsd: c.raw('vault.fees_high_water_usd'),
  suspensionReason: c.textOrNull('vault.suspension_reason'),
  suspendedAt: c.numberOrNull('vault.suspended_at'),
  updatedAt: c.number('vault.updated_at'),
  moment: null,
})

const vaultCodec = modelCodec(columnsOfVault)

const vaultsByAddress: Read = {
  name: 'vaults_by_address',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'address' },
  text: `${vaultCodec.select} from vault where address = any($1::text[])`,
  decode: vaultCodec.decode,
}

const positionCodec = modelCodec<{ '': Tables['position'] }, PositionRow>(
  (c) => ({
    vaultAddress: c.key,
    at: null,
    id: c.text('id'),
    a: c.text('a'),
    b: c.text('b'),
    venue: c.text('venue'),
    feeTier: c.number('fee_tier'),
    priceLower: c.raw('price_lower'),
    priceUpper: c.raw('price_upper'),
    priceCurrent: c.raw('price_current'),
    tickLower: c.numberOrNull('tick_lower'),
    tickUpper: c.numberOrNull('tick_upper'),
    tickCurrent: c.numberOrNull('tick_current'),
    inRange: c.boolean('in_range'),
    pendingRewardsUsd: c.raw('pending_rewards_usd'),
  }),
  'ordinal',
)

/** A subquery for each vault is cheaper than a join, and uses the index whatever the statistics of the tables. */
const positionsByVault: Read = {
  name: 'positions_by_vault',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'vaultAddress' },
  text: `select list.vault as key, (select ${positionCodec.aggregate} from position
      where vault_id = (select id from vault where address = list.vault)) as encoded, ${dataVersion}
    from ${namedVaults}`,
  decode: positionCodec.decode,
}

/** Reads vaults by address, in undefined order; unknown addresses are omitted. */
export function readVaults(reader: Reader, addresses: readonly string[]): Promise<VaultRow[]> {
  return reader.query(vaultsByAddress, [addresses])
}

/** Reads the open positions of vaults, in the order of the newest mark for each vault. */
export function readPositions(reader: Reader, addresses: readonly string[]): Promise<PositionRow[]> {
  return reader.query(positionsByVault, [addresses])
}
