import { useEffect, useRef, useState } from 'preact/hooks'
import type { VaultEquityQuery } from '../../documents.generated.ts'
import { useSurroundings } from '../../data/hooks.ts'
import { formatUsd } from '../../format/figures.ts'
import { formatTime } from '../../format/times.ts'
import { Time, Usd } from '../values.tsx'
import type { ChartCurve, EquityChart, EquityData } from './curves.ts'

type Equity = NonNullable<VaultEquityQuery['vault']>

interface EquityFigureProps {
  readonly equity: Equity
  readonly hidden: readonly ChartCurve[]
  readonly zoom: (since: number, until: number) => void
}

/** The chart of a vault's equity, with the figures of the point under the pointer. Its code is loaded on demand. */
export function EquityFigure({ equity: { equity, flows }, hidden, zoom }: EquityFigureProps) {
  const { changes } = useSurroundings()
  const place = useRef<HTMLDivElement | null>(null)
  const chart = useRef<EquityChart | null>(null)
  const latest = useRef({ data: { equity, flows: flows.nodes }, hidden, zoom })
  const [pointed, setPointed] = useState<number | null>(null)
  const [isMissing, setMissing] = useState(false)
  latest.current = { data: { equity, flows: flows.nodes }, hidden, zoom }
  useEffect(() => {
    if (chart.current !== null) return
    let isGone = false
    const draw = async (): Promise<void> => {
      const code = await import('./equity-chart.ts').catch(() => null)
      if (isGone || place.current === null) return
      setMissing(code === null)
      if (code === null) return
      const onZoom = (since: number, until: number): void => latest.current.zoom(since, until)
      chart.current = code.drawEquity(place.current, { onZoom, onPoint: setPointed })
      chart.current.show(latest.current.data, latest.current.hidden)
    }
    void draw()
    return () => void (isGone = true)
  }, [changes])
  useEffect(() => () => chart.current?.close(), [])
  useEffect(() => chart.current?.show({ equity, flows: flows.nodes }, hidden), [equity, flows, hidden])
  const point = pointed === null ? undefined : equity[pointed]
  return (
    <figure>
      {isMissing && (
        <p role="alert" class="problem">
          The chart could not be loaded: reload the page.
        </p>
      )}
      <div ref={place} class="chart" role="img" aria-label={summaryOf(equity, flows)} />
      <figcaption>
        {point === undefined ? (
          <>
            Drag over the chart to zoom in.
            {flows.nodes.length > 0 && (
              <>
                {' '}
                <span class="gain">▲</span> deposit, <span class="loss">▼</span> withdrawal.
              </>
            )}
          </>
        ) : (
          <>
            <Time seconds={point.ts} />: value <Usd amount={point.valueUsd} />, gain{' '}
            <Usd amount={point.netUsd} isGain />
            {point.strategyDeltaUsd !== null && point.marketDeltaUsd !== null && (
              <>
                , by the strategy <Usd amount={point.strategyDeltaUsd} isGain />, by the market{' '}
                <Usd amount={point.marketDeltaUsd} isGain />
              </>
            )}
          </>
        )}
      </figcaption>
    </figure>
  )
}

/** Returns a text description of the chart. */
function summaryOf(equity: EquityData['equity'], { nodes, pageInfo }: Equity['flows']): string {
  const [first, last] = [equity[0], equity.at(-1)]
  if (first === undefined || last === undefined) return 'No equity is recorded in this window'
  const gain = (amount: string): string => formatUsd(amount, { isGain: true })
  const count = (type: string): number => nodes.filter((flow) => flow.type === type).length
  return (
    `Equity from ${formatTime(first.ts)} to ${formatTime(last.ts)}: value from ${formatUsd(first.valueUsd)} to ` +
    `${formatUsd(last.valueUsd)}, gain net of flows from ${gain(first.netUsd)} to ${gain(last.netUsd)}; ` +
    (pageInfo.hasNextPage ? `of the newest ${nodes.length} flows: ` : '') +
    `deposits: ${count('DEPOSIT')}, withdrawals: ${count('WITHDRAW')}`
  )
}
