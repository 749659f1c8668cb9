import { setImmediate as nextIteration } from 'node:timers/promises'
import { charactersAtOnce } from '../../limits.ts'
import type { Statement, Versioned } from '../database.ts'
import type { ColumnsIn, ModelColumns, SelectedRows } from '../prisma/columns.ts'
import { dataVersion } from './commit-log.ts'

/**
 * The columns of an encoded row, in order. Each method takes the SQL expression of a column and returns its value. A row
 * function calls the same methods in the same order for every row. A column that can be NULL needs one of the methods
 * with OrNull: `concat_ws` leaves a NULL out, and all later columns would shift.
 */
export interface Columns {
  /** A text that never contains a tab, sent as it is: amounts, addresses, names of enums. */
  raw(sql: string): string
  number(sql: string): number
  boolean(sql: string): boolean
  /** Any text, sent as a JSON string. */
  text(sql: string): string
  /** An array of texts, sent as JSON. */
  textList(sql: string): string[]
  rawOrNull(sql: string): string | null
  numberOrNull(sql: string): number | null
  textOrNull(sql: string): string | null
  /** The key that all rows of one text share, which the text does not contain. */
  readonly key: string
}

/** Encodes rows of one shape as one text in SQL, and decodes them. */
export interface RowCodec<Row> {
  /** SQL aggregate that encodes the selected rows; null where there are none. */
  readonly aggregate: string
  /** Start of a statement up to its FROM: selects the encoded rows and the version of the data. */
  readonly select: string
  readonly decode: (encoded: string, key?: string) => Row[]
}

const tab = '\t'

/**
 * Creates a codec for rows as one text, whose columns are separated by tabs. The driver takes several times as long to
 * create one string for each column.
 * @param rowOf creates a row from its columns; called once in advance to record their SQL
 * @param order SQL expression to order the rows by; without it their order is undefined
 */
export function rowCodec<Row>(rowOf: (columns: Columns) => Row, order?: string): RowCodec<Row> {
  const recorder = new ColumnRecorder()
  rowOf(recorder)
  const ordered = order === undefined ? '' : ` order by ${order}`
  const aggregate = `string_agg(concat_ws(E'\\t', ${recorder.sql.join(', ')}), E'\\t'${ordered})`
  return {
    aggregate,
    select: `select ${aggregate} as encoded, ${dataVersion}`,
    decode: (encoded, key = '') => {
      const texts = encoded.split(tab)
      const columns = new ColumnDecoder(texts, key)
      const rows: Row[] = []
      while (columns.at < texts.length) rows.push(rowOf(columns))
      return rows
    },
  }
}

/**
 * Creates a row codec as {@link rowCodec} does, whose columns are checked against the Prisma models at compile time.
 * @param rowOf creates a row from its columns
 * @param order column to order the rows by; without it their order is undefined
 * @example modelCodec<{ strategy: Tables['strategy'] }, { id: string }>((c) => ({ id: c.text('strategy.id') }))
 */
export function modelCodec<From extends SelectedRows, Row>(
  rowOf: (columns: ModelColumns<From>) => Row,
  order?: keyof ColumnsIn<From> & string,
): RowCodec<Row> {
  // The same methods with narrower types: they accept fewer SQL texts, and return enums as such.
  return rowCodec(rowOf as (columns: Columns) => Row, order)
}

/** A row as the database sends it. Reads for responses include the version of the data in each row. */
interface SentRow {
  readonly encoded?: string | null
  readonly key?: string
  readonly dataVersion?: string
}

/**
 * Decodes the rows of a statement, by its codec where it has one: then all rows are one text, or one text for each key. Long
 * texts, whose receipt has taken time, are decoded in the next iteration of the event loop.
 * @param sent rows from the driver
 * @returns the rows, with the version of their snapshot where the statement selects it
 */
export function decodeRows<Row>(statement: Statement, sent: unknown[]): Versioned<Row> | Promise<Versioned<Row>> {
  const texts = sent as SentRow[]
  // All rows of a statement are from one snapshot.
  const version = texts[0]?.dataVersion ?? null
  const { decode } = statement
  if (decode === undefined) return { rows: sent as Row[], version }
  let characters = 0
  for (const { encoded } of texts) characters += encoded?.length ?? 0
  return characters > charactersAtOnce
    ? nextIteration().then(() => decodeTexts(decode as Decode<Row>, texts, version))
    : decodeTexts(decode as Decode<Row>, texts, version)
}

type Decode<Row> = RowCodec<Row>['decode']

function decodeTexts<Row>(decode: Decode<Row>, texts: readonly SentRow[], version: string | null): Versioned<Row> {
  const lists: Row[][] = []
  for (const { encoded, key } of texts) if (encoded != null) lists.push(decode(encoded, key))
  const [only, ...others] = lists
  return { rows: only !== undefined && others.length === 0 ? only : ([] as Row[]).concat(...lists), version }
}

const asJson = (sql: string): string => `to_json(${sql})::text`
const orEmpty = (sql: string): string => `coalesce((${sql})::text, '')`

/** Recording pass: collects the SQL of the columns, with null as an empty text. The returned values are placeholders. */
class ColumnRecorder implements Columns {
  readonly key = ''
  readonly sql: string[] = []

  raw(sql: string): string {
    return this.#record(sql)
  }

  number(sql: string): number {
    return Number(this.#record(sql))
  }

  boolean(sql: string): boolean {
    return this.#record(sql) === ''
  }

  text(sql: string): string {
    return this.#record(asJson(sql))
  }

  textList(sql: string): string[] {
    return [this.#record(asJson(sql))]
  }

  rawOrNull(sql: string): string {
    return this.#record(orEmpty(sql))
  }

  numberOrNull(sql: string): number {
    return Number(this.#record(orEmpty(sql)))
  }

  textOrNull(sql: string): string {
    return this.#record(orEmpty(asJson(sql)))
  }

  #record(sql: string): string {
    this.sql.push(sql)
    return ''
  }
}

/** Decoding pass: returns the values of an encoded text in sequence. */
class ColumnDecoder implements Columns {
  /** Index of the next text. */
  at = 0

  constructor(
    readonly texts: readonly string[],
    readonly key: string,
  ) {}

  raw(): string {
    return this.texts[this.at++] as string
  }

  number(): number {
    return Number(this.raw())
  }

  boolean(): boolean {
    return this.raw() === 't'
  }

  /** A JSON string without escapes needs only its quotes removed, which is faster than parsing it. */
  text(): string {
    const json = this.raw()
    return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
  }

  textList(): string[] {
    return JSON.parse(this.raw()) as string[]
  }

  rawOrNull(): string | null {
    const text = this.raw()
    return text === '' ? null : text
  }

  numberOrNull(): number | null {
    const text = this.raw()
    return text === '' ? null : Number(text)
  }

  textOrNull(): string | null {
    if (this.texts[this.at] !== '') return this.text()
    this.at++
    return null
  }
}
