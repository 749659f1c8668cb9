import type { ComponentChildren } from 'preact'
import type { ListRows } from '../../data/lists/paged-list.ts'
import { type HeadProps, RowCells, TableHead } from './columns.tsx'
import { VirtualRows } from './virtual-rows.tsx'

interface TableProps<Row> extends HeadProps<Row> {
  readonly name: string
  readonly keyOf: (row: Row, index: number) => string
  /** Takes the place of a table without rows. */
  readonly empty: string
}

/** A table whose rows are all on the page; undefined ones are not loaded yet. */
export function Table<Row>({
  rows,
  keyOf,
  empty,
  ...props
}: TableProps<Row> & { readonly rows: readonly Row[] | undefined }) {
  if (rows?.length === 0) return <p class="faint">{empty}</p>
  return (
    <TableFrame {...props}>
      <tbody>
        {rows?.map((row, index) => (
          <tr key={keyOf(row, index)}>
            <RowCells columns={props.columns} row={row} />
          </tr>
        ))}
      </tbody>
    </TableFrame>
  )
}

export interface LongTableProps<Row> extends TableProps<Row> {
  readonly list: ListRows<Row>
  /** How many rows the list has, loaded or not; undefined while that is not known. */
  readonly total: number | undefined
  /** Names the rows, in the plural. */
  readonly rowsName: string
}

/** A table of which only the rows in sight are on the page, and which loads more as one scrolls. */
export function LongTable<Row>({ list, total, rowsName, keyOf, empty, ...props }: LongTableProps<Row>) {
  const { columns } = props
  if (total === 0) return <p class="faint">{empty}</p>
  return (
    <TableFrame {...props} rowCount={(total ?? 0) + 1}>
      <VirtualRows
        list={list}
        keyOf={(row) => keyOf(row, 0)}
        cells={(row) => <RowCells columns={columns} row={row} />}
        columns={columns.length}
        name={rowsName}
      />
    </TableFrame>
  )
}

interface FrameProps<Row> extends HeadProps<Row> {
  readonly name: string
  readonly rowCount?: number
  readonly children: ComponentChildren
}

/** A table that scrolls sideways in a place of its own, by the keyboard too. */
function TableFrame<Row>({ name, rowCount, children, ...head }: FrameProps<Row>) {
  return (
    <div class="scrolled" tabIndex={0} role="group" aria-label={`${name}, as a table`}>
      <table aria-label={name} aria-rowcount={rowCount}>
        <TableHead {...head} />
        {children}
      </table>
    </div>
  )
}
