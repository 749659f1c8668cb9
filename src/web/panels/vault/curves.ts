import type { VaultEquityQuery } from '../../documents.generated.ts'

/** The curves of the equity chart. */
export const curveNames = {
  value: 'Value',
  net: 'Gain net of flows',
  strategy: 'by the strategy',
  market: 'by the market',
} as const

export type ChartCurve = keyof typeof curveNames

/** A series of equity points, and the flows in its window. */
export interface EquityData {
  readonly equity: NonNullable<VaultEquityQuery['vault']>['equity']
  readonly flows: NonNullable<VaultEquityQuery['vault']>['flows']['nodes']
}

/** A drawn chart. */
export interface EquityChart {
  show(data: EquityData, hidden: readonly ChartCurve[]): void
  close(): void
}
