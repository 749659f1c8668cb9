import { useContext, useState } from 'preact/hooks'
import { VaultEquityDocument, type VaultEquityQuery } from '../../documents.generated.ts'
import type { CsvTable } from '../../data/csv.ts'
import { useQuery, useSurroundings } from '../../data/hooks.ts'
import { readWholeSeries } from '../../data/lists/whole-lists.ts'
import { words } from '../../format/figures.ts'
import type { VaultPageState } from '../../page-state.ts'
import { Choices, toggled } from '../choices.tsx'
import { NavigateContext } from '../page-link.tsx'
import { Panel } from '../panel.tsx'
import { Time, Usd } from '../values.tsx'
import { type ChartCurve, curveNames } from './curves.ts'
import { EquityFigure } from './equity-figure.tsx'
import { EquityTable, equityTable } from './equity-table.tsx'

const points = 400
/** Maximum number of marked deposits and withdrawals, the newest of the window. */
const marks = 100
const day = 86_400
const windows = [
  ['All', null],
  ['90 days', 90 * day],
  ['30 days', 30 * day],
  ['7 days', 7 * day],
  ['1 day', day],
] as const

type Equity = NonNullable<VaultEquityQuery['vault']>

/** The equity of a vault over time: value, gain net of flows and its parts, with deposits and withdrawals. */
export function EquityPanel({ state, updatedAt }: { readonly state: VaultPageState; readonly updatedAt: number }) {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const { address, since, until } = state
  const variables = { address, since, until, points, marks }
  const query = useQuery(VaultEquityDocument, variables)
  const [hidden, setHidden] = useState<readonly ChartCurve[]>([])
  const vault = query.data?.vault ?? null
  const table = async (): Promise<CsvTable> => equityTable(await readWholeSeries(client, { address, since, until }))
  const zoom = (from: number | null, to: number | null): void => navigate({ ...state, since: from, until: to })
  const toggle = (curve: ChartCurve): void => setHidden(toggled(hidden, curve))
  return (
    <Panel
      title="Equity"
      document={VaultEquityDocument}
      variables={variables}
      state={query}
      csv={vault === null ? null : table}
      file={`${address}-equity`}
    >
      <div class="controls">
        <div role="group" aria-label="Window" class="joined">
          {windows.map(([name, seconds]) => {
            const from = seconds === null ? null : updatedAt - seconds
            return (
              <button
                type="button"
                key={name}
                aria-pressed={isAbout(state, from, updatedAt)}
                onClick={() => zoom(from, null)}
              >
                {name}
              </button>
            )
          })}
          <StepButtons equity={vault?.equity ?? []} zoom={zoom} />
        </div>
        <Choices
          legend="Curves"
          values={Object.keys(curveNames) as ChartCurve[]}
          isChosen={(curve) => !hidden.includes(curve)}
          toggle={toggle}
          labelOf={(curve) => (
            <>
              <span class={`swatch ${curve}`} aria-hidden="true" /> {curveNames[curve]}
            </>
          )}
        />
      </div>
      {vault?.equity.length === 0 && <p class="faint">No equity is recorded in this window.</p>}
      {vault !== null && vault.equity.length > 0 && (
        <>
          <EquityFigure equity={vault} hidden={hidden} zoom={zoom} />
          <FlowList flows={vault.flows} />
          <EquityTable equity={vault.equity} />
        </>
      )}
    </Panel>
  )
}

/** Returns whether a window starts at about a time: the buttons count back from the newest fact, which advances. */
function isAbout({ since, until }: VaultPageState, from: number | null, updatedAt: number): boolean {
  if (until !== null) return false
  return since === null || from === null ? since === from : Math.abs(from - since) <= (updatedAt - from) / 20
}

interface ZoomProps {
  readonly equity: Equity['equity']
  readonly zoom: (since: number | null, until: number | null) => void
}

/** Buttons that zoom in and out by the keyboard, in place of dragging. */
function StepButtons({ equity, zoom }: ZoomProps) {
  const [first, last] = [equity[0]?.ts, equity.at(-1)?.ts]
  if (first === undefined || last === undefined || first === last) return null
  const quarter = Math.max(1, Math.round((last - first) / 4))
  const [since, until] = [first + quarter, last - quarter + 1]
  const isAnyWithin = equity.some(({ ts }) => ts >= since && ts < until)
  return (
    <>
      <button type="button" disabled={!isAnyWithin} onClick={() => zoom(since, until)}>
        Zoom in
      </button>
      <button type="button" onClick={() => zoom(Math.max(0, first - 2 * quarter), last + 2 * quarter)}>
        Zoom out
      </button>
    </>
  )
}

function FlowList({ flows }: { readonly flows: Equity['flows'] }) {
  if (flows.nodes.length === 0) return <p class="faint">No deposits or withdrawals in this window.</p>
  return (
    <details>
      <summary>
        Deposits and withdrawals: {flows.pageInfo.hasNextPage ? 'the newest ' : ''}
        {flows.nodes.length}
      </summary>
      <ul>
        {flows.nodes.map(({ id, ts, type, amountUsd }) => (
          <li key={id}>
            <Time seconds={ts} />: {words(type)} {amountUsd !== null && <Usd amount={amountUsd} />}
          </li>
        ))}
      </ul>
    </details>
  )
}
