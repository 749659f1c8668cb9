import { formatUsd } from '../format/figures.ts'

const width = 96
const height = 24

/** A small curve of gains. Numbers are used only for screen coordinates. */
export function Sparkline({ gains }: { readonly gains: readonly string[] }) {
  const values = gains.map(Number)
  const [first, last] = [gains[0], gains.at(-1)]
  if (first === undefined || last === undefined || values.length < 2) return null
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const points = values.map((value, index) => {
    const x = 1 + (index / (values.length - 1)) * (width - 2)
    const y = most === least ? height / 2 : height - 2 - ((value - least) / (most - least)) * (height - 4)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  const change = (values.at(-1) ?? 0) - (values[0] ?? 0)
  const tone = change === 0 ? '' : change > 0 ? 'gain' : 'loss'
  const format = { isGain: true, isRounded: true }
  return (
    <svg
      class={`sparkline ${tone}`}
      preserveAspectRatio="none"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Gain from ${formatUsd(first, format)} to ${formatUsd(last, format)}`}
    >
      <polyline vector-effect="non-scaling-stroke" points={points.join(' ')} />
    </svg>
  )
}
