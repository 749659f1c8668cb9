import { useState } from 'preact/hooks'
import type { CsvTable } from '../../data/csv.ts'
import { Time, Usd } from '../values.tsx'
import { TableFrame } from '../lists/table-frame.tsx'
import type { EquityData } from './curves.ts'

type Points = EquityData['equity']

/** The points of the chart as a table, which is rendered when it is opened. */
export function EquityTable({ equity }: { readonly equity: Points }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The points of the chart as a table</summary>
      {isOpen && (
        <TableFrame name="Equity">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col" class="number">
                Value
              </th>
              <th scope="col" class="number">
                Gain
              </th>
              <th scope="col" class="number">
                by the strategy
              </th>
              <th scope="col" class="number">
                by the market
              </th>
            </tr>
          </thead>
          <tbody>
            {equity.map(({ ts, valueUsd, netUsd, strategyDeltaUsd, marketDeltaUsd }, index) => (
              <tr key={`${ts}-${index}`}>
                <td>
                  <Time seconds={ts} />
                </td>
                <td class="number">
                  <Usd amount={valueUsd} />
                </td>
                <td class="number">
                  <Usd amount={netUsd} isGain />
                </td>
                <td class="number">{strategyDeltaUsd !== null && <Usd amount={strategyDeltaUsd} isGain />}</td>
                <td class="number">{marketDeltaUsd !== null && <Usd amount={marketDeltaUsd} isGain />}</td>
              </tr>
            ))}
          </tbody>
        </TableFrame>
      )}
    </details>
  )
}

export function equityTable(equity: Points): CsvTable {
  return {
    columns: ['ts', 'valueUsd', 'capitalInUsd', 'capitalOutUsd', 'netUsd', 'strategyDeltaUsd', 'marketDeltaUsd'],
    rows: equity.map(({ ts, valueUsd, capitalInUsd, capitalOutUsd, netUsd, strategyDeltaUsd, marketDeltaUsd }) => [
      ...[ts, valueUsd, capitalInUsd, capitalOutUsd, netUsd, strategyDeltaUsd, marketDeltaUsd],
    ]),
  }
}
