import type { ComponentChildren } from 'preact'
import type { ListRows } from '../../data/lists/paged-list.ts'
import { type HeadProps, RowCells, TableHead } from './columns.tsx'
import { VirtualRows } from './virtual-rows.tsx'

interface TableProps<Row> extends HeadProps<Row> {
  readonly name: string
  readonly keyOf: (row: Row, index: number) => string
  /** Text in place of a table without rows. */
  readonly empty: string
}

/** A table that renders all rows; undefined rows are not loaded yet. */
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
  /** Total number of rows of the list; undefined while unknown. */
  readonly total: number | undefined
  /** Name of the rows, in the plural. */
  readonly rowsName: string
}

/** A table that renders only the visible rows, and loads more on scrolling. */
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

/** A table in a frame that scrolls horizontally, also by the keyboard. */
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
