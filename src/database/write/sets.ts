import type { Transaction } from '../database.ts'

/** Rows of a table, by column. */
export type Row<Columns> = { readonly [Name in keyof Columns]: unknown }

type Columns = Readonly<Record<string, string>>

/** Writes all rows in one statement, or none where there are none. */
export type SetWriter<Names> = (transaction: Transaction, rows: readonly Row<Names>[]) => Promise<void>

/**
 * One statement that inserts any number of rows, which it takes as one JSON parameter.
 * @param columns the columns and their types in SQL
 * @param conflict what to do with a row whose key is there, in SQL; without it, that fails
 */
export function insertSet<const Names extends Columns>(table: string, columns: Names, conflict = ''): SetWriter<Names> {
  const names = Object.keys(columns).join(', ')
  return writer(`insert into ${table} (${names}) select ${names} from ${records(columns)} ${conflict}`)
}

/** One statement that updates any number of rows, found by their key. */
export function updateSet<const Names extends Columns>(
  table: string,
  columns: Names,
  key: keyof Names & string,
): SetWriter<Names> {
  const assignments = Object.keys(columns)
    .filter((name) => name !== key)
    .map((name) => `${name} = changed.${name}`)
  return writer(
    `update ${table} set ${assignments.join(', ')} from ${records(columns, 'changed')} where ${table}.${key} = changed.${key}`,
  )
}

function records(columns: Columns, alias = 'given'): string {
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  return `jsonb_to_recordset($1::jsonb) as ${alias}(${types.join(', ')})`
}

function writer<Names>(sql: string): SetWriter<Names> {
  return async (transaction, rows) => {
    if (rows.length > 0) await transaction.$executeRawUnsafe(sql, JSON.stringify(rows))
  }
}
