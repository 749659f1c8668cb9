import { useState } from 'preact/hooks'
import type { CsvTable } from '../../data/csv.ts'
import type { Column } from '../lists/columns.tsx'
import { Table } from '../lists/tables.tsx'
import { Time, Usd } from '../values.tsx'
import type { EquityData } from './curves.ts'

type Points = EquityData['equity']
type Point = Points[number]

const columns: readonly Column<Point>[] = [
  { name: 'Time', classes: 'time', cell: ({ ts }) => <Time seconds={ts} /> },
  { name: 'Value', classes: 'number', cell: ({ valueUsd }) => <Usd amount={valueUsd} /> },
  { name: 'Gain', classes: 'number', cell: ({ netUsd }) => <Usd amount={netUsd} isGain /> },
  { name: 'by the strategy', classes: 'number', cell: ({ strategyDeltaUsd }) => <Part amount={strategyDeltaUsd} /> },
  { name: 'by the market', classes: 'number', cell: ({ marketDeltaUsd }) => <Part amount={marketDeltaUsd} /> },
]

/** A part of a gain; empty where it is unknown. */
function Part({ amount }: { readonly amount: string | null }) {
  return amount === null ? null : <Usd amount={amount} isGain />
}

/** The points of the chart as a table, which is rendered once opened. */
export function EquityTable({ equity }: { readonly equity: Points }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The points of the chart as a table</summary>
      {isOpen && (
        <Table
          name="Equity"
          columns={columns}
          rows={equity}
          keyOf={({ ts }, index) => `${ts}-${index}`}
          empty="No equity is recorded in this window."
        />
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
