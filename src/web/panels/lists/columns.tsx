import { Component, type ComponentChildren } from 'preact'

/** A column of a table. */
export interface Column<Row> {
  readonly name: string
  /** CSS classes; `number` aligns to the right. */
  readonly classes?: string
  /** Whether the column's cells are row headings. */
  readonly isHeading?: boolean
  readonly cell: (row: Row) => ComponentChildren
}

/** A heading of a column with more than the column's name. */
export interface Heading {
  readonly content: ComponentChildren
  readonly sorted?: 'ascending' | 'descending' | undefined
}

export interface HeadProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly headingOf?: ((column: Column<Row>) => Heading) | undefined
}

/** The headings of a table. */
export function TableHead<Row>({ columns, headingOf }: HeadProps<Row>) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map((column) => {
          const { content, sorted } = headingOf?.(column) ?? { content: column.name }
          return (
            <th key={column.name} scope="col" class={column.classes} aria-sort={sorted}>
              {content}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

interface CellsProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly row: Row
}

/** The cells of a row, rendered again only when the row changes. Narrow screens show the columns' names in them. */
export class RowCells<Row> extends Component<CellsProps<Row>> {
  override shouldComponentUpdate({ columns, row }: Readonly<CellsProps<Row>>): boolean {
    if (columns !== this.props.columns) return true
    return row !== this.props.row && JSON.stringify(row) !== JSON.stringify(this.props.row)
  }

  override render() {
    const { columns, row } = this.props
    return columns.map(({ name, classes, isHeading = false, cell }) =>
      isHeading ? (
        <th key={name} scope="row" class={classes}>
          {cell(row)}
        </th>
      ) : (
        <td key={name} class={classes} data-name={name}>
          {cell(row)}
        </td>
      ),
    )
  }
}
