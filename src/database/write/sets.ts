import type { Statement, Transaction } from '../database.ts'

/** Rows of a table, by column. */
export type Row<Columns> = { readonly [Name in keyof Columns]: unknown }

type Columns = Readonly<Record<string, string>>

/** Writes all rows by one statement, or none where there are none. */
export type SetWriter<Names> = (transaction: Transaction, rows: readonly Row<Names>[]) => void

/**
 * One statement that inserts any number of rows, which it takes as one JSON parameter.
 * @param columns the columns and their types in SQL
 * @param conflict what to do with a row whose key is there, in SQL; without it, that fails
 */
export function insertSet<const Names extends Columns>(table: string, columns: Names, conflict = ''): SetWriter<Names> {
  const names = Object.keys(columns).join(', ')
  return writer({
    name: `insert_${table}`,
    text: `insert into ${table} (${names}) select ${names} from ${records(columns)} ${conflict}`,
    hasOnePlan: true,
  })
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
  return writer({
    name: `update_${table}`,
    text: `update ${table} set ${assignments.join(', ')} from ${records(columns, 'changed')} where ${table}.${key} = changed.${key}`,
  })
}

/** One statement that deletes the rows of any number of keys. */
export function deleteSet(table: string, key: string): (transaction: Transaction, keys: readonly string[]) => void {
  const statement = { name: `delete_${table}`, text: `delete from ${table} where ${key} = any($1::text[])` }
  return (transaction, keys) => {
    if (keys.length > 0) transaction.send(statement, [keys])
  }
}

/** Columns to select, as numbers and texts, whatever the engine's client would make of their types. */
export function selectList(columns: Columns): string {
  const casts: Columns = { bigint: '::float8', numeric: '::text' }
  return Object.entries(columns)
    .map(([name, type]) => `${name}${casts[type] ?? ''}`)
    .join(', ')
}

function records(columns: Columns, alias = 'given'): string {
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  return `jsonb_to_recordset($1::jsonb) as ${alias}(${types.join(', ')})`
}

function writer<Names>(statement: Statement): SetWriter<Names> {
  return (transaction, rows) => {
    if (rows.length > 0) transaction.send(statement, [JSON.stringify(rows)])
  }
}
