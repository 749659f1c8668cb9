import { listLimits } from '../../limits.ts'
import { readEquity, type Window } from '../../database/read/equity.ts'
import { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import { requireWithin, windowOf } from './arguments.ts'
import { builder } from './builder.ts'
import { type ServedPoint, withBefore } from '../served-point.ts'
import { groupRowsByKey, createLoader } from '../execution/data-loaders.ts'

const loadEquity = createLoader(
  'equity',
  async (database, vaults: readonly string[], { points, ...window }: Window & { points: number }) => {
    const rows = groupRowsByKey(vaults, await readEquity(database, vaults, window, points), (row) => row.vaultAddress)
    return new Map<string, ServedPoint[]>(Array.from(rows, ([vault, series]) => [vault, withBefore(series)]))
  },
)

const EquityPoint = builder.prismaObject('EquityPoint', {
  description: "A vault's equity as a flow or a valuation left it: recorded, never averaged.",
  fields: (t) => ({
    ts: t.expose('ts', { type: 'UnixTime', description: 'When, in Unix seconds.' }),
    valueUsd: t.expose('valueUsd', { type: 'Usd', description: 'Value of the vault then, in USD.' }),
    capitalInUsd: t.expose('capitalInUsd', { type: 'Usd', description: 'Capital deposited until then, in USD.' }),
    capitalOutUsd: t.expose('capitalOutUsd', { type: 'Usd', description: 'Capital withdrawn until then, in USD.' }),
    netUsd: t.expose('netUsd', {
      type: 'Usd',
      description: 'Gain net of flows until then, in USD: valueUsd + capitalOutUsd - capitalInUsd.',
    }),
    changeUsd: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Change of netUsd, in USD, since the point served before this one, so that a deposit is no rally; null on the first.',
      resolve: ({ netUsd, before }) => before && usdText(new Decimal(netUsd).minus(before.netUsd)),
    }),
  }),
})

builder.prismaObjectField('Vault', 'equity', (t) =>
  t.field({
    type: [EquityPoint],
    description:
      "The vault's equity over time, oldest first. A longer series is thinned to the points that keep the shape of its net-of-flows curve.",
    args: {
      since: t.arg({ type: 'UnixTime', description: 'From this time on, included.' }),
      until: t.arg({ type: 'UnixTime', description: 'Up to this time, not included.' }),
      points: t.arg.int({
        required: true,
        defaultValue: listLimits.points.default,
        description: `How many points at most, ${listLimits.points.least} to ${listLimits.points.most}.`,
      }),
    },
    resolve: async (vault, { since, until, points }, context) => {
      const args = { ...windowOf(since, until), points: requireWithin('points', points, listLimits.points) }
      return (await loadEquity(context, vault.address, args)) ?? []
    },
  }),
)
