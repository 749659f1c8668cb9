import type { Prisma } from './generated/client/client.ts'
import type PrismaTypes from './generated/pothos.ts'

/** A name in snake case, as tables and columns are named: `capitalInUsd` becomes `capital_in_usd`. */
export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : ''

/** Rows of the Prisma models, by table. */
export type Tables = {
  readonly [Model in keyof PrismaTypes as SnakeCase<Uncapitalize<Model>>]: PrismaTypes[Model]['Shape']
}

/** A row that an outer join may lack. */
export type Missing<Row> = { readonly [Field in keyof Row]: Row[Field] | null }

/** The rows that a statement selects from, by alias; '' for columns without an alias. */
export type SelectedRows = Readonly<Record<string, object>>

/** Values by the SQL of their columns. */
export type ColumnsIn<From extends SelectedRows> = Intersection<
  {
    [Alias in keyof From & string]: {
      readonly [Field in keyof From[Alias] & string as Qualified<Alias, SnakeCase<Field>>]: From[Alias][Field]
    }
  }[keyof From & string]
>

type Qualified<Alias extends string, Column extends string> = Alias extends '' ? Column : `${Alias}.${Column}`
type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** Columns with values of a kind. */
type Having<Columns, Kind> = {
  readonly [Sql in keyof Columns as Columns[Sql] extends Kind ? Sql : never]: Columns[Sql]
}
type Known<Columns> = { readonly [Sql in keyof Columns]: NonNullable<Columns[Sql]> }

/** Columns that are sent without conversion, with the type in which they are received; bytes as hexadecimal digits. */
type Raw<Columns> = {
  readonly [
    Sql in keyof Columns as Columns[Sql] extends string | bigint | Prisma.Decimal ? Sql : never
  ]: Columns[Sql] extends string ? Columns[Sql] : string
} & { readonly [Sql in keyof Having<Columns, Uint8Array> & string as Hex<Sql>]: string }
type Hex<Sql extends string> = `encode(${Sql}, 'hex')` | `'0x' || encode(${Sql}, 'hex')`

/**
 * The methods of `Columns`, restricted to columns of models with a matching type: a nullable column needs a method with OrNull.
 * Enums retain their type.
 */
export interface ModelColumns<From extends SelectedRows, Columns = ColumnsIn<From>> {
  raw<Sql extends keyof Raw<Columns>>(sql: Sql): Raw<Columns>[Sql]
  number(sql: keyof Having<Columns, number | bigint>): number
  boolean(sql: keyof Having<Columns, boolean>): boolean
  text(sql: keyof Having<Columns, string>): string
  textList(sql: keyof Having<Columns, readonly string[]>): string[]
  rawOrNull<Sql extends keyof Raw<Known<Columns>>>(sql: Sql): Raw<Known<Columns>>[Sql] | null
  numberOrNull(sql: keyof Having<Known<Columns>, number | bigint>): number | null
  textOrNull(sql: keyof Having<Known<Columns>, string>): string | null
  readonly key: string
}

/** Columns of a table. */
export type ColumnOf<Table extends keyof Tables> = SnakeCase<keyof Tables[Table] & string>

/** Some columns of a table, with their SQL types. */
export type ColumnTypes<Table extends keyof Tables> = {
  readonly [Field in keyof Tables[Table] & string as SnakeCase<Field>]?: SqlTypeOf<Tables[Table][Field]>
}

/** SQL type of a column: for an enum its name, which a model's type does not contain. */
export type SqlTypeOf<Value> = [Value] extends [bigint | null]
  ? 'bigint'
  : [Value] extends [number | null]
    ? 'integer' | 'float8'
    : [Value] extends [boolean | null]
      ? 'boolean'
      : [Value] extends [Prisma.Decimal | null]
        ? 'numeric'
        : [Value] extends [Uint8Array | null]
          ? 'bytea'
          : [Value] extends [readonly string[]]
            ? 'text[]'
            : string extends Value
              ? 'text'
              : string
