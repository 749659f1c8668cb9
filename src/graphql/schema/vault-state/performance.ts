import { readStrategyPerformance, readVaultPerformance } from '../../../database/read/past/performance.ts'
import { type DayWindow, noPerformance, type Performance, wholeDays } from '../../../domain/figures/performance.ts'
import { secondsPerDay } from '../../../domain/returns.ts'
import { ownLongRead } from '../../execution/cost/long-reads.ts'
import { createLoader } from '../../execution/data-loaders.ts'
import { windowOf } from '../arguments.ts'
import { builder } from '../builder.ts'

const loadVaultPerformance = createLoader('vault performance', readVaultPerformance)
const loadStrategyPerformance = createLoader('strategy performance', readStrategyPerformance)

const PerformanceType = builder.objectRef<Performance>('Performance').implement({
  description:
    'Growth (time-weighted return), drawdown and volatility over the whole UTC days of a window, by daily values net of flows. Realised, never a projection.',
  fields: (t) => ({
    since: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'Start of the first day that counts, in Unix seconds; null where there was no value.',
      resolve: ({ firstDay }) => (firstDay === null ? null : Math.max(0, firstDay * secondsPerDay)),
    }),
    until: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'End of the last day that counts, in Unix seconds; null where there was no value.',
      resolve: ({ lastDay }) => (lastDay === null ? null : (lastDay + 1) * secondsPerDay),
    }),
    timeWeightedReturn: t.exposeFloat('timeWeightedReturn', {
      nullable: true,
      description:
        'Compounded return as a fraction (0.12 is 12 %), valued at each flow, not annualised; null where there was no value, and where it is beyond the range of a double.',
    }),
    maxDrawdown: t.exposeFloat('maxDrawdown', {
      nullable: true,
      description:
        'Greatest loss from the end of one day to that of a later one, as a fraction (0.12 is 12 %); null where there was no value.',
    }),
    volatility: t.exposeFloat('volatility', {
      nullable: true,
      description:
        'Standard deviation of daily logarithmic returns as an annualised fraction; null with fewer than 30 of them, and where a day lost everything.',
    }),
  }),
})

const windowArguments = {
  since: { type: 'UnixTime', description: 'Only days that begin at this time or later, in Unix seconds.' },
  until: { type: 'UnixTime', description: 'Only days that end at this time or before, in Unix seconds.' },
} as const

/** Returns the days of a window; without a start from the first day on, without an end up to the current day. */
function daysOf(since: number | null | undefined, until: number | null | undefined): DayWindow {
  const window = windowOf(since, until)
  const { firstDay, lastDay } = wholeDays(window.since, window.until)
  return { firstDay: since == null ? -1 : firstDay, lastDay }
}

builder.prismaObjectField('Vault', 'performance', (t) =>
  t.field({
    type: PerformanceType,
    description:
      'Its performance over a window, at most its 3,660 newest days. Without until the day of its newest fact counts, which is not over; of a vault at a moment in the past only days that were over.',
    args: { since: t.arg(windowArguments.since), until: t.arg(windowArguments.until) },
    extensions: ownLongRead,
    resolve: async ({ address, moment }, { since, until }, context) => {
      const days = daysOf(since, until)
      const lastDay = moment === null ? days.lastDay : Math.min(days.lastDay, wholeDays(0, moment.at).lastDay)
      return (await loadVaultPerformance(context, address, { ...days, lastDay })) ?? noPerformance
    },
  }),
)

builder.prismaObjectField('Strategy', 'performance', (t) =>
  t.field({
    type: PerformanceType,
    description:
      'Its performance over a window, at most its 3,660 newest days: of all of its vaults, weighted by their value at the start of each day. Only complete days count.',
    args: { since: t.arg(windowArguments.since), until: t.arg(windowArguments.until) },
    extensions: ownLongRead,
    resolve: async ({ id }, { since, until }, context) => {
      return (await loadStrategyPerformance(context, id, daysOf(since, until))) ?? noPerformance
    },
  }),
)
