import uPlot from 'uplot'
import { onThemeChange } from '../../data/theme.ts'
import { timeLabels, usdLabels } from './axis-labels.ts'
import { type ChartCurve, type EquityChart, type EquityData } from './curves.ts'
import { drawFlows, drawZero } from './equity-marks.ts'

export interface EquityChartOptions {
  /** Called with the selected window, in Unix seconds, its end excluded. */
  readonly onZoom: (since: number, until: number) => void
  /** Called with the index of the point under the pointer; null where there is none. */
  readonly onPoint: (index: number | null) => void
}

/** The plots, one above the other: their titles, heights in pixels and curves. */
const plots = [
  { title: 'Value', height: 210, curves: ['value'] },
  { title: 'Gain', height: 210, curves: ['net', 'strategy', 'market'] },
] as const

const figureOf = {
  value: ({ valueUsd }) => valueUsd,
  net: ({ netUsd }) => netUsd,
  strategy: ({ strategyDeltaUsd }) => strategyDeltaUsd,
  market: ({ marketDeltaUsd }) => marketDeltaUsd,
} satisfies Record<ChartCurve, (point: EquityData['equity'][number]) => string | null>

/** Shortest drag that is a zoom, in pixels. */
const leastDrag = 6

/** In seconds. */
const halfDay = 43_200

/** Minimum space between time labels, minimum width of amount labels, and width of a character, in pixels. */
const [timeSpace, leastAxis, characterWidth] = [76, 64, 7]

/** Draws the equity chart in an element. Amounts are converted to numbers only for screen coordinates. */
export function drawEquity(element: HTMLElement, options: EquityChartOptions): EquityChart {
  let flows: EquityData['flows'] = []
  const colour = colourReader(element)
  const layOut = (): void => drawn.forEach((plot) => plot.redraw(false, true))
  const amounts = axisWidth(layOut)
  const drawn: readonly uPlot[] = plots.map((plot) => {
    const hooks = { ...hooksOf(options), draw: [drawZero(colour), drawFlows(colour, () => flows)] }
    return new uPlot(
      { ...optionsOf(plot, colour, amounts.of), hooks, width: element.clientWidth || 600 },
      [[]],
      element,
    )
  })
  const resize = new ResizeObserver(() => {
    for (const plot of drawn) plot.setSize({ width: element.clientWidth, height: plot.height })
  })
  resize.observe(element)
  const endThemeChanges = onThemeChange(() => drawn.forEach((plot) => plot.redraw()))
  return {
    show({ equity, flows: shownFlows }, hidden) {
      flows = shownFlows
      amounts.reset()
      const times = equity.map(({ ts }) => ts)
      for (const [index, { curves }] of plots.entries()) {
        const columns = curves.map((curve) => equity.map((point) => numberOf(figureOf[curve](point))))
        drawn[index]?.setData([times, ...columns])
        for (const [at, curve] of curves.entries()) drawn[index]?.setSeries(at + 1, { show: !hidden.includes(curve) })
      }
      layOut()
    },
    close() {
      resize.disconnect()
      endThemeChanges()
      for (const plot of drawn) plot.destroy()
    },
  }
}

/** Resolves the style sheet's colours for a canvas, which does not accept colours for two themes. */
function colourReader(element: HTMLElement): (name: string) => string {
  const probe = element.appendChild(document.createElement('span'))
  return (name) => {
    probe.style.color = `var(--chart-${name})`
    return getComputedStyle(probe).color
  }
}

/**
 * Computes the width of amount labels, the same in all plots, so that their time axes are aligned.
 * @param onGrowth called when labels are wider than those before
 */
function axisWidth(onGrowth: () => void) {
  let width = leastAxis
  return {
    reset: () => void (width = leastAxis),
    of: (_plot: uPlot, labels: string[] | null): number => {
      const longest = Math.max(0, ...(labels ?? []).map((label) => label.length))
      const needed = (longest + 2) * characterWidth
      if (needed > width) {
        width = needed
        queueMicrotask(onGrowth)
      }
      return width
    },
  }
}

type AxisSize = ReturnType<typeof axisWidth>['of']

function optionsOf(
  { title, height, curves }: (typeof plots)[number],
  colour: (name: string) => string,
  size: AxisSize,
) {
  const axis = {
    stroke: () => colour('text'),
    grid: { stroke: () => colour('grid'), width: 1 },
    ticks: { show: false },
  }
  return {
    title,
    height,
    legend: { show: false },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      // The pointer is shown in both plots; a drag belongs to the plot under it.
      sync: { key: 'equity', filters: { pub: (type: string) => type === 'mousemove' || type === 'mouseleave' } },
      points: { size: 7 },
    },
    scales: { x: { range: timeRange } },
    axes: [
      { ...axis, grid: { show: false }, space: timeSpace, values: labelledBy(timeLabels) },
      { ...axis, values: labelledBy(usdLabels), size },
    ],
    series: [{}, ...curves.map((curve) => seriesOf(curve, colour))],
  }
}

/** Returns the times of an axis: those of the data, or the day around a single point, for which uPlot would take a thousand days. */
function timeRange({ data: [times] }: uPlot, from: number, to: number): [from: number, to: number] {
  return times.length === 1 ? [from - halfDay, from + halfDay] : [from, to]
}

/** Adapts a function for axis labels to uPlot's signature. */
function labelledBy(labelsOf: (splits: readonly number[], step: number) => string[]) {
  return (_plot: uPlot, splits: number[], _axis: number, _space: number, step: number): string[] =>
    labelsOf(splits, step)
}

function hooksOf({ onZoom, onPoint }: EquityChartOptions): uPlot.Hooks.Arrays {
  return {
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
  }
}

function seriesOf(curve: ChartCurve, colour: (name: string) => string): uPlot.Series {
  return {
    stroke: () => colour(curve),
    ...(curve === 'value' ? { fill: () => colour(curve).replace(')', ' / 0.1)').replaceAll(',', '') } : {}),
    width: curve === 'value' || curve === 'net' ? 2 : 1.5,
    spanGaps: true,
  }
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text)
}
