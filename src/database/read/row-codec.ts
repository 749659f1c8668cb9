import { dataVersion } from './commit-log.ts'

/**
 * Columns of packed rows, one after the other, each by what SQL puts into the text: a row is made of what they give. They
 * are asked in the same order for every row.
 */
export interface Columns {
  /** What has no tabs as text: amounts, addresses, the names of enums. */
  plain(sql: string): string
  number(sql: string): number
  flag(sql: string): boolean
  /** Any text. */
  words(sql: string): string
  list(sql: string): string[]
  plainOrNull(sql: string): string | null
  numberOrNull(sql: string): number | null
  wordsOrNull(sql: string): string | null
  /** The key that all rows of a text have, which is not in it. */
  key(): string
}

/** Rows of one shape as one text. */
export interface RowCodec<Row> {
  /** What makes a text of the rows that are read, in SQL; null of none. */
  readonly text: string
  /** The beginning of a statement, up to what it reads from: its one row has that text, and the version of the data. */
  readonly select: string
  readonly unpack: (text: string, key?: string) => Row[]
}

const tab = '\t'

/**
 * Rows as one text, with a tab between any two of their columns: to make a string of each column that was sent takes the
 * driver several times as long.
 * @param rowOf makes a row; it is asked once beforehand for its columns
 * @param order of the rows, in SQL; without it they are in the order in which they are found
 */
export function rowCodec<Row>(rowOf: (columns: Columns) => Row, order?: string): RowCodec<Row> {
  const named = new NamedColumns()
  rowOf(named)
  const ordered = order === undefined ? '' : ` order by ${order}`
  const text = `string_agg(concat_ws(E'\\t', ${named.sql.join(', ')}), E'\\t'${ordered})`
  return {
    text,
    select: `select ${text} as packed, ${dataVersion}`,
    unpack: (packed, key = '') => {
      const columns = new PackedColumns(packed.split(tab), key)
      const rows: Row[] = []
      while (columns.hasMore) rows.push(rowOf(columns))
      return rows
    },
  }
}

const asJson = (sql: string): string => `to_json(${sql})::text`
const orEmpty = (sql: string): string => `coalesce((${sql})::text, '')`

/** Takes in what SQL puts into the text, null as nothing; what it gives means nothing. */
class NamedColumns implements Columns {
  readonly sql: string[] = []

  plain(sql: string): string {
    return this.#take(sql)
  }

  number(sql: string): number {
    return Number(this.#take(sql))
  }

  flag(sql: string): boolean {
    return this.#take(sql) === ''
  }

  words(sql: string): string {
    return this.#take(asJson(sql))
  }

  list(sql: string): string[] {
    return [this.#take(asJson(sql))]
  }

  plainOrNull(sql: string): string {
    return this.#take(orEmpty(sql))
  }

  numberOrNull(sql: string): number {
    return Number(this.#take(orEmpty(sql)))
  }

  wordsOrNull(sql: string): string {
    return this.#take(orEmpty(asJson(sql)))
  }

  key(): string {
    return ''
  }

  #take(sql: string): string {
    this.sql.push(sql)
    return ''
  }
}

/** Gives what a text has. */
class PackedColumns implements Columns {
  readonly #texts: readonly string[]
  readonly #key: string
  #at = 0

  constructor(texts: readonly string[], key: string) {
    this.#texts = texts
    this.#key = key
  }

  get hasMore(): boolean {
    return this.#at < this.#texts.length
  }

  plain(): string {
    return this.#next()
  }

  number(): number {
    return Number(this.#next())
  }

  flag(): boolean {
    return this.#next() === 't'
  }

  words(): string {
    return unquoted(this.#next())
  }

  list(): string[] {
    return JSON.parse(this.#next()) as string[]
  }

  plainOrNull(): string | null {
    const text = this.#next()
    return text === '' ? null : text
  }

  numberOrNull(): number | null {
    const text = this.#next()
    return text === '' ? null : Number(text)
  }

  wordsOrNull(): string | null {
    const text = this.#next()
    return text === '' ? null : unquoted(text)
  }

  key(): string {
    return this.#key
  }

  #next(): string {
    return this.#texts[this.#at++] as string
  }
}

/** The string that JSON text is. */
function unquoted(text: string): string {
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
}
