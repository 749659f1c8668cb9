import type { Statement, Transaction } from '../database.ts'
import type { ColumnOf, ColumnTypes, Tables } from '../prisma/columns.ts'

/** A row of a table, by column. */
export type Row<Columns> = { readonly [Name in keyof Columns]: unknown }

type Columns = Readonly<Record<string, string>>

/** Any SQL type except arrays. */
type ScalarType = 'integer' | 'bigint' | 'numeric' | 'boolean' | 'bytea' | 'text' | EnumType
type EnumType = 'event_type' | 'vault_phase' | 'vault_status'

/** Columns of a table and no others: a type parameter alone would accept more. */
type Only<Table extends keyof Tables, Names> = Names & Readonly<Record<Exclude<keyof Names, ColumnOf<Table>>, never>>

/** Writes all rows by one statement; without effect for no rows. */
export type SetWriter<Names> = (transaction: Transaction, rows: readonly Row<Names>[]) => void

/**
 * Creates a statement that inserts any number of rows, sent as one JSON parameter.
 * @param columns SQL types by column, checked against the table's Prisma model
 * @param conflict ON CONFLICT clause; without it a duplicate key fails
 * @see PostgreSQL documentation, "JSON Functions and Operators", jsonb_to_recordset
 */
export function insertSet<const Table extends keyof Tables, const Names extends ColumnTypes<Table>>(
  table: Table,
  columns: Only<Table, Names>,
  conflict = '',
): SetWriter<Names> {
  const names = Object.keys(columns).join(', ')
  return writer({
    name: `insert_${table}`,
    text: `insert into ${table} (${names}) select ${names} from ${records(columns)} ${conflict}`,
    prepare: 'once',
  })
}

/**
 * Creates a statement that inserts any number of rows. Where the key of a row exists, it updates all other columns, so that a
 * column cannot be inserted and be forgotten in updates.
 * @param columns SQL types by column, checked against the table's Prisma model
 * @param key columns of the key
 * @param overrides SQL of the columns that are not updated to the given value
 */
export function upsertSet<const Table extends keyof Tables, const Names extends ColumnTypes<Table>>(
  table: Table,
  columns: Only<Table, Names>,
  key: readonly (keyof Names & string)[],
  overrides?: Readonly<Partial<Record<keyof Names & string, string>>>,
): SetWriter<Names> {
  const assignments = Object.keys(columns)
    .filter((name) => !(key as readonly string[]).includes(name))
    .map((name) => `${name} = ${(overrides as Partial<Columns> | undefined)?.[name] ?? `excluded.${name}`}`)
  return insertSet(table, columns, `on conflict (${key.join(', ')}) do update set ${assignments.join(', ')}`)
}

/**
 * Creates a COPY that appends any number of rows, in less than half of the time of an INSERT. A duplicate key fails.
 * @param columns SQL types by column, checked against the table's Prisma model
 */
export function appendSet<const Table extends keyof Tables, const Names extends ColumnTypes<Table>>(
  table: Table,
  columns: Only<Table, Names> & Readonly<Record<keyof Names, ScalarType>>,
): SetWriter<Names> {
  const encoders = Object.entries<string>(columns).map(([name, type]) => ({ name, encode: copyEncoder(type) }))
  const names = encoders.map(({ name }) => name).join(', ')
  const statement: Statement = { name: `append_${table}`, text: `copy ${table} (${names}) from stdin` }
  return (transaction, rows) => {
    if (rows.length === 0) return
    let lines = ''
    for (const row of rows) {
      let separator = ''
      for (const { name, encode } of encoders) {
        const value = (row as Row<Columns>)[name] ?? null
        lines +=
          separator + (value === null ? '\\N' : encode(typeof value === 'string' ? value : JSON.stringify(value)))
        separator = '\t'
      }
      lines += '\n'
    }
    transaction.copy(statement, lines)
  }
}

/** Encoders of COPY's text format. */
function copyEncoder(type: string): (text: string) => string {
  const isPlain = ['integer', 'bigint', 'numeric', 'boolean'].includes(type)
  if (isPlain) return (text) => text
  return type === 'bytea' ? (text) => `\\${text}` : escaped
}

/** @see PostgreSQL documentation, COPY, "Text Format" */
function escaped(text: string): string {
  return /[\\\n\r\t]/.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => escapes[character] as string) : text
}

const escapes: Columns = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Creates a statement that updates any number of rows by their key.
 * @param columns SQL types by column, checked against the table's Prisma model
 */
export function updateSet<const Table extends keyof Tables, const Names extends ColumnTypes<Table>>(
  table: Table,
  columns: Only<Table, Names>,
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

/** Creates a statement that deletes the rows of any number of vaults. */
export function deleteSet(table: keyof Tables): (transaction: Transaction, vaultIds: readonly number[]) => void {
  const statement = { name: `delete_${table}`, text: `delete from ${table} where vault_id = any($1::integer[])` }
  return (transaction, vaultIds) => {
    if (vaultIds.length > 0) transaction.send(statement, [vaultIds])
  }
}

/** Returns a select list of columns, whose values the drivers of both engines return as numbers and strings. */
export function selectList(columns: Columns): string {
  const casts: Columns = { bigint: '::float8', numeric: '::text' }
  return Object.entries(columns)
    .map(([name, type]) => (type === 'bytea' ? `encode(${name}, 'hex') as ${name}` : `${name}${casts[type] ?? ''}`))
    .join(', ')
}

/** Returns hexadecimal digits as a value of a column of bytes. */
export function bytesOrNull(digits: string): string
export function bytesOrNull(digits: string | null): string | null
export function bytesOrNull(digits: string | null): string | null {
  return digits === null ? null : `\\x${digits}`
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
