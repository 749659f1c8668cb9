import { Decimal } from '../../../domain/decimal.ts'
import { isInRange } from '../../../domain/position.ts'
import type { Read, Reader } from '../../database.ts'
import { layoutRows } from '../../history/layout.ts'
import { decodePositions } from '../../history/point-state.ts'
import { dataVersion } from '../commit-log.ts'
import type { Tables } from '../../prisma/columns.ts'
import { modelCodec } from '../row-codec.ts'
import type { PositionRow } from '../rows.ts'
import { keyAt, namedMoments, newestUpTo } from './newest.ts'

interface StoredPositions {
  /** Its vault and time, as `keyAt` writes them. */
  readonly key: string
  readonly layout: string
  readonly state: string
}

/** Every mark has a state. */
type PositionRows = {
  readonly layout: Tables['position_layout']
  readonly point: { readonly state: NonNullable<Tables['equity_point']['state']> }
}

const positionsCodec = modelCodec<PositionRows, StoredPositions>((c) => ({
  key: c.key,
  layout: c.text('layout.positions'),
  state: c.raw(`encode(point.state, 'hex')`),
}))

const positionsAt: Read = {
  name: 'positions_at',
  source: 'named vaults',
  batching: { kind: 'keyed', keyColumn: 'key' },
  text: `select list.key, found.encoded, ${dataVersion} from ${namedMoments}
    cross join lateral (select ${positionsCodec.aggregate} as encoded
      from (select id from vault where address = list.vault offset 0) vault
        cross join lateral (select state from equity_point where vault_id = vault.id and ts = list.at) point
        cross join lateral ${newestUpTo('position_layout', 'positions')} layout) found`,
  decode: positionsCodec.decode,
}

/**
 * Reads the positions that marks have shown, in their order for each vault.
 * @param markedAt time of the marks, in Unix seconds
 * @param at moment that the rows are served for: part of their global ids
 */
export async function readPositionsAt(
  database: Reader,
  addresses: readonly string[],
  { markedAt, at }: { readonly markedAt: number; readonly at: number },
): Promise<PositionRow[]> {
  const keys = addresses.map((address) => keyAt(address, markedAt))
  const found = new Map(
    (await database.query<StoredPositions>(positionsAt, [keys])).map((stored) => [stored.key, stored]),
  )
  return addresses.flatMap((address, index) => {
    const stored = found.get(keys[index] ?? '')
    return stored === undefined ? [] : positionRows(stored, address, at)
  })
}

function positionRows({ layout, state }: StoredPositions, address: string, at: number): PositionRow[] {
  const rows = layoutRows(layout)
  const changing = decodePositions(
    state,
    rows.map(([, , , , , , , tickLower]) => tickLower),
  )
  return rows.map(([id, a, b, venue, feeTier, priceLower, priceUpper, tickLower, tickUpper], index) => {
    const { priceCurrent = '0', tickCurrent = null, pendingRewardsUsd = '0' } = changing[index] ?? {}
    const prices = {
      lower: new Decimal(priceLower),
      upper: new Decimal(priceUpper),
      current: new Decimal(priceCurrent),
    }
    const ticks =
      tickLower === null || tickUpper === null || tickCurrent === null
        ? null
        : { lower: tickLower, upper: tickUpper, current: tickCurrent }
    return {
      vaultAddress: address,
      at,
      id,
      a,
      b,
      venue,
      feeTier,
      priceLower,
      priceUpper,
      priceCurrent,
      tickLower,
      tickUpper,
      tickCurrent,
      inRange: isInRange(prices, ticks),
      pendingRewardsUsd,
    }
  })
}
