import { type Columns, type RowCodec, rowCodec } from '../read/row-codec.ts'
import type { ColumnsIn, ModelColumns, SelectedRows } from './columns.ts'

/**
 * Creates a row codec whose columns are checked against the Prisma models at compile time: it runs as {@link rowCodec} does.
 * @param rowOf creates a row from its columns
 * @param order column to order the rows by; without it their order is undefined
 * @example modelCodec<{ strategy: Tables['strategy'] }, { id: string }>((c) => ({ id: c.text('strategy.id') }))
 */
export function modelCodec<From extends SelectedRows, Row>(
  rowOf: (columns: ModelColumns<From>) => Row,
  order?: keyof ColumnsIn<From> & string,
): RowCodec<Row> {
  // The same methods, which take fewer texts, and return enums as such.
  return rowCodec(rowOf as (columns: Columns) => Row, order)
}
