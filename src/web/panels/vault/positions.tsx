import { VaultPositionsDocument, type VaultPositionsQuery } from '../../documents.generated.ts'
import { useQuery } from '../../data/hooks.ts'
import { formatFeeTier, formatPrice } from '../../format/figures.ts'
import { Panel } from '../panel.tsx'
import { Figure, Usd } from '../values.tsx'

type OpenPosition = NonNullable<VaultPositionsQuery['vault']>['positions'][number]

/** The open positions of a vault, as bars of their ranges. */
export function PositionsPanel({ address }: { readonly address: string }) {
  const variables = { address }
  const state = useQuery(VaultPositionsDocument, variables)
  const positions = state.data?.vault?.positions
  const table = (known: readonly OpenPosition[]) => () => ({
    columns: ['id', 'a', 'b', 'venue', 'feeTier', 'lower', 'current', 'upper', 'inRange', 'pendingRewardsUsd'],
    rows: known.map(({ positionId, pool, range, inRange, pendingRewardsUsd }) => [
      ...[positionId, pool.a, pool.b, pool.venue, pool.feeTier, range.lower, range.current, range.upper],
      ...[inRange, pendingRewardsUsd],
    ]),
  })
  return (
    <Panel
      title="Positions"
      document={VaultPositionsDocument}
      variables={variables}
      state={state}
      csv={positions === undefined ? null : table(positions)}
      file={`${address}-positions`}
    >
      {positions?.length === 0 && <p class="faint">No open position.</p>}
      <ul class="positions">
        {positions?.map((position) => (
          <PositionItem key={position.id} position={position} />
        ))}
      </ul>
    </Panel>
  )
}

function PositionItem({
  position: { positionId, pool, range, inRange, pendingRewardsUsd },
}: {
  readonly position: OpenPosition
}) {
  return (
    <li>
      <p class="row">
        <strong>
          <bdi>{pool.a}</bdi>/<bdi>{pool.b}</bdi>
        </strong>{' '}
        <bdi>{pool.venue}</bdi> {formatFeeTier(pool.feeTier)} <bdi class="faint">{positionId}</bdi>{' '}
        <span class={`badge ${inRange ? 'earning' : 'attention'}`}>{inRange ? 'in range' : 'out of range'}</span>
      </p>
      <RangeBar {...range} inRange={inRange} />
      <dl class="figures">
        <Figure name="Lower">
          <data value={range.lower}>{formatPrice(range.lower)}</data>
        </Figure>
        <Figure name="Current" class={inRange ? '' : 'loss'}>
          <data value={range.current}>{formatPrice(range.current)}</data>
        </Figure>
        <Figure name="Upper">
          <data value={range.upper}>{formatPrice(range.upper)}</data>
        </Figure>
        <Figure name="Pending rewards">
          <Usd amount={pendingRewardsUsd} />
        </Figure>
      </dl>
    </li>
  )
}

interface RangeBarProps {
  readonly lower: string
  readonly current: string
  readonly upper: string
  readonly inRange: boolean
}

/** Maximum factor between the price and a drawn bound: a full range would not fit. */
const farthest = 10

/** A range as a bar on a logarithmic scale, with the price as a mark. Numbers are used only for screen coordinates. */
function RangeBar({ lower, current, upper, inRange }: RangeBarProps) {
  const distance = (price: string): number => {
    const ratio = Number(price) / Number(current)
    return Math.log(Math.min(farthest, Math.max(1 / farthest, Number.isFinite(ratio) ? ratio : 1)))
  }
  const [from, to] = [distance(lower), distance(upper)]
  const [least, most] = [Math.min(from, 0), Math.max(to, 0)]
  const margin = (most - least || 1) * 0.08
  const place = (value: number): number => (100 * (value - least + margin)) / (most - least + 2 * margin)
  return (
    <svg
      class={inRange ? 'range' : 'range out'}
      role="img"
      aria-label={`Range from ${formatPrice(lower)} to ${formatPrice(upper)}, price ${formatPrice(current)}, ${inRange ? 'in range' : 'out of range'}`}
    >
      <rect x="0" y="40%" width="100%" height="20%" class="track" />
      <rect
        x={`${place(from)}%`}
        y="25%"
        width={`${Math.max(0.5, place(to) - place(from))}%`}
        height="50%"
        class="bar"
      />
      <line x1={`${place(0)}%`} x2={`${place(0)}%`} y1="0" y2="100%" class="price" />
    </svg>
  )
}
