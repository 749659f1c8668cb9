import uPlot from 'uplot'
import { EventType } from '../../documents.generated.ts'
import { onThemeChange } from '../../data/theme.ts'
import { type ChartCurve, curveNames, type EquityChart, type EquityData } from './curves.ts'

export interface EquityChartOptions {
  /** Called with the window that was dragged over, in Unix seconds, its end excluded. */
  readonly onZoom: (since: number, until: number) => void
  /** Called with the index of the point under the pointer; null where there is none. */
  readonly onPoint: (index: number | null) => void
}

const curves = Object.keys(curveNames) as ChartCurve[]
const height = 320
/** By its number: uPlot declares an enum for it that does not exist when it runs. */
const right = 1 as unknown as uPlot.Axis.Side
/** Shortest drag that is a zoom, in pixels. */
const leastDrag = 6

const compactUsd = new Intl.NumberFormat(undefined, {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  maximumFractionDigits: 2,
})

/** Draws the equity chart in an element. Numbers are used for places on the screen alone. */
export function drawEquity(element: HTMLElement, { onZoom, onPoint }: EquityChartOptions): EquityChart {
  let flows: EquityData['flows'] = []
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(`--chart-${name}`)
  const values = (_: uPlot, splits: number[]): string[] => splits.map((split) => compactUsd.format(split))
  const axis = {
    stroke: () => colour('text'),
    grid: { stroke: () => colour('grid'), width: 1 },
    ticks: { show: false },
  }
  const gainAxis = { ...axis, scale: 'gain', side: right, values, size: 70, grid: { show: false } }
  const chart = new uPlot(
    {
      width: element.clientWidth || 600,
      height,
      legend: { show: false },
      scales: { usd: {}, gain: {} },
      cursor: { drag: { x: true, y: false, setScale: false } },
      axes: [axis, { ...axis, scale: 'usd', values, size: 70 }, gainAxis],
      series: [{}, ...curves.map((curve) => seriesOf(curve, colour))],
      hooks: {
        draw: [(drawn) => drawFlows(drawn, flows, colour)],
        setCursor: [({ cursor: { idx } }) => onPoint(idx ?? null)],
        setSelect: [
          (drawn) => {
            const { left, width } = drawn.select
            if (width < leastDrag) return
            const [from, to] = [drawn.posToVal(left, 'x'), drawn.posToVal(left + width, 'x')]
            drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            onZoom(Math.max(0, Math.floor(from)), Math.ceil(to) + 1)
          },
        ],
      },
    },
    [[], ...curves.map(() => [])],
    element,
  )
  const resize = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
  resize.observe(element)
  const endThemeChanges = onThemeChange(() => chart.redraw())
  return {
    show(data, hidden) {
      flows = data.flows
      const column = (of: (point: EquityData['equity'][number]) => string | null): (number | null)[] =>
        data.equity.map((point) => numberOf(of(point)))
      chart.setData([
        data.equity.map(({ ts }) => ts),
        column(({ valueUsd }) => valueUsd),
        column(({ netUsd }) => netUsd),
        column(({ strategyDeltaUsd }) => strategyDeltaUsd),
        column(({ marketDeltaUsd }) => marketDeltaUsd),
      ])
      for (const [index, curve] of curves.entries()) chart.setSeries(index + 1, { show: !hidden.includes(curve) })
    },
    close() {
      resize.disconnect()
      endThemeChanges()
      chart.destroy()
    },
  }
}

function seriesOf(curve: ChartCurve, colour: (name: string) => string): uPlot.Series {
  return {
    scale: curve === 'value' ? 'usd' : 'gain',
    stroke: () => colour(curve),
    width: 1.5,
    spanGaps: true,
    dash: curve === 'net' ? [8, 4] : [],
  }
}

/** Draws a line for each flow, with a mark that points up for a deposit, and down for a withdrawal. */
function drawFlows(drawn: uPlot, flows: EquityData['flows'], colour: (name: string) => string): void {
  const { ctx, bbox } = drawn
  ctx.save()
  ctx.lineWidth = 1
  for (const { ts, type } of flows) {
    const x = drawn.valToPos(ts, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    const isDeposit = type === EventType.Deposit
    ctx.strokeStyle = ctx.fillStyle = colour(isDeposit ? 'deposit' : 'withdrawal')
    ctx.setLineDash([3, 3])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    const [tip, base] = isDeposit ? [bbox.top, bbox.top + 9] : [bbox.top + 9, bbox.top]
    ctx.beginPath()
    ctx.moveTo(x, tip)
    ctx.lineTo(x - 5, base)
    ctx.lineTo(x + 5, base)
    ctx.fill()
  }
  ctx.restore()
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text)
}
