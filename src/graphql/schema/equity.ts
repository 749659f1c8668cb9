import { listLimits } from '../../limits.ts'
import { readEquity, type Window } from '../../database/read/equity.ts'
import type { CurveName } from '../../domain/equity.ts'
import { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import { requireWithin, upTo, windowOf } from './arguments.ts'
import { builder } from './builder.ts'
import { ownLongRead } from '../execution/cost/long-reads.ts'
import { groupRowsByKey, createLoader } from '../execution/data-loaders.ts'

interface SeriesArguments extends Window {
  readonly points: number
  readonly by: CurveName
}

const loadEquity = createLoader(
  'equity',
  async (reader, vaults: readonly string[], { points, by, ...window }: SeriesArguments) => {
    const rows = await readEquity(reader, vaults, window, points, by)
    return groupRowsByKey(vaults, rows, (row) => row.vaultAddress)
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
    strategyDeltaUsd: t.field({
      type: 'Usd',
      nullable: true,
      description:
        "The strategy's part of netUsd until then, in USD: the two parts sum to it exactly. Null where marketDeltaUsd is.",
      resolve: ({ netUsd, marketDeltaUsd }) =>
        marketDeltaUsd === null ? null : usdText(new Decimal(netUsd).minus(marketDeltaUsd)),
    }),
    marketDeltaUsd: t.expose('marketDeltaUsd', {
      type: 'Usd',
      nullable: true,
      description:
        "The market's part of netUsd until then, in USD; null on points that were recorded before this was kept.",
    }),
    changeUsd: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Change of netUsd, in USD, since the point served before this one, so that a deposit is no rally; null on the first.',
      resolve: ({ netUsd, previousNetUsd }) =>
        previousNetUsd === null ? null : usdText(new Decimal(netUsd).minus(previousNetUsd)),
    }),
  }),
})

const EquityCurve = builder.enumType('EquityCurve', {
  description: "Curves that can be drawn of a vault's equity.",
  values: {
    NET: { value: 'net', description: 'The gain net of flows, netUsd.' },
    STRATEGY: { value: 'strategy', description: "The strategy's part of it, strategyDeltaUsd." },
    MARKET: { value: 'market', description: "The market's part of it, marketDeltaUsd." },
    VALUE: { value: 'value', description: 'The value, valueUsd, in which a deposit is a rise.' },
  } as const,
})

builder.prismaObjectField('Vault', 'equity', (t) =>
  t.field({
    type: [EquityPoint],
    description:
      "The vault's equity over time, oldest first. A longer series is thinned to the points that keep the shape of a curve. Of a vault at a moment in the past it ends with that second.",
    args: {
      since: t.arg({ type: 'UnixTime', description: 'From this time on, included.' }),
      until: t.arg({ type: 'UnixTime', description: 'Up to this time, not included.' }),
      points: t.arg.int({
        required: true,
        defaultValue: listLimits.points.default,
        description: `How many points at most, ${listLimits.points.min} to ${listLimits.points.max}.`,
      }),
      by: t.arg({
        type: EquityCurve,
        required: true,
        defaultValue: 'net',
        description: "The curve whose shape is kept; where a part of the gain is not known, it's netUsd.",
      }),
    },
    extensions: ownLongRead,
    resolve: async (vault, { since, until, points, by }, context) => {
      const window = upTo(windowOf(since, until), vault.moment)
      const args = { ...window, points: requireWithin('points', points, listLimits.points), by }
      return (await loadEquity(context, vault.address, args)) ?? []
    },
  }),
)
