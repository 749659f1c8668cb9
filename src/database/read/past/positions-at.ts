import { Decimal } from '../../../domain/decimal.ts'
import { isInRange } from '../../../domain/position.ts'
import type { Read, Reader } from '../../database.ts'
import { layoutRows } from '../../history/layout.ts'
import { decodePositions } from '../../history/point-state.ts'
import { dataVersion } from '../commit-log.ts'
import type { Tables } from '../../prisma/columns.ts'
import { modelCodec } from '../row-codec.ts'
import type { PositionRow } from '../rows.ts'
import { keyAt, namedMoments } from './newest.ts'

interface StoredState {
  /** Its vault and time, as `keyAt` writes them. */
  readonly key: string
  readonly state: string
}

/** Every mark has a state. */
type MarkRow = { readonly point: { readonly state: NonNullable<Tables['equity_point']['state']> } }

const stateCodec = modelCodec<MarkRow, StoredState>((c) => ({ key: c.key, state: c.raw(`encode(point.state, 'hex')`) }))

const markStates: Read = {
  name: 'mark_states',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'key' },
  text: `select list.key, found.encoded, ${dataVersion} from ${namedMoments}
    cross join lateral (select ${stateCodec.aggregate} as encoded
      from (select id from vault where address = list.vault offset 0) vault
        cross join lateral (select state from equity_point where vault_id = vault.id and ts = list.at) point) found`,
  decode: stateCodec.decode,
}

/**
 * Reads the states of marks, by the address of their vaults.
 * @param ts time of the marks, in Unix seconds
 */
export async function readMarkStates(
  reader: Reader,
  addresses: readonly string[],
  ts: number,
): Promise<Map<string, string>> {
  const keys = addresses.map((address) => keyAt(address, ts))
  const found = new Map((await reader.query<StoredState>(markStates, [keys])).map(({ key, state }) => [key, state]))
  return new Map(
    addresses.flatMap((address, index) => {
      const state = found.get(keys[index] ?? '')
      return state === undefined ? [] : [[address, state]]
    }),
  )
}

/**
 * Returns the positions of a mark, in its order.
 * @param at moment that the rows are served for: part of their global ids
 */
export function positionsOfMark(
  { layout, state }: { readonly layout: string; readonly state: string },
  address: string,
  at: number,
): PositionRow[] {
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
