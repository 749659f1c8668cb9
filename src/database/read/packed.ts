/** A column of packed rows: what SQL puts into the text, which is empty for null, and what is made of that. */
export interface Column<Value> {
  readonly sql: string
  readonly read: (text: string) => Value
}

/** What has no tabs as text: amounts, addresses, the names of enums. */
export const plain = <Value extends string = string>(sql: string): Column<Value> => {
  return { sql, read: (text) => text as Value }
}

export const number = (sql: string): Column<number> => ({ sql, read: Number })

export const flag = (sql: string): Column<boolean> => ({ sql, read: (text) => text === 't' })

/** Any text. */
export const words = (sql: string): Column<string> => ({ sql: `to_json(${sql})::text`, read: unquoted })

export const list = (sql: string): Column<string[]> => {
  return { sql: `to_json(${sql})::text`, read: (text) => JSON.parse(text) as string[] }
}

export const nullable = <Value>({ sql, read }: Column<Value>): Column<Value | null> => {
  return { sql: `coalesce((${sql})::text, '')`, read: (text) => (text === '' ? null : read(text)) }
}

/** Rows of one shape as one text. */
export interface Packed<Row, Shared extends keyof Row> {
  /** What makes a text of the rows that are read, in SQL; null of none. */
  readonly text: string
  /** The beginning of a statement, up to what it reads from: its one row has that text. */
  readonly select: string
  /** @param shared the columns that are the same in all of them, and not in the text */
  readonly unpack: (text: string, shared?: Pick<Row, Shared>) => Row[]
}

const tab = '\t'

/**
 * Rows as one text, with a tab between any two of their columns: to make a string of each column that was sent takes the
 * driver several times as long.
 * @param order of the rows, in SQL; without it they are in the order in which they are found
 */
export function packed<Row, Shared extends keyof Row = never>(
  columns: { readonly [Name in Exclude<keyof Row, Shared>]: Column<Row[Name]> },
  order?: string,
): Packed<Row, Shared> {
  const all = Object.entries<Column<unknown>>(columns)
  const line = all.map(([, { sql }]) => sql).join(', ')
  const ordered = order === undefined ? '' : ` order by ${order}`
  const text = `string_agg(concat_ws(E'\\t', ${line}), E'\\t'${ordered})`
  return {
    text,
    select: `select ${text} as packed`,
    unpack: (packed, shared) => {
      const same = Object.entries(shared ?? {})
      const values = packed.split(tab)
      const rows: Row[] = []
      for (let at = 0; at < values.length;) {
        // Begun as a copy of what is shared, each would be a dictionary, which takes ten times as long to fill and to read.
        const row: Record<string, unknown> = {}
        for (const [name, { read }] of all) row[name] = read(values[at++] as string)
        for (const [name, value] of same) row[name] = value
        rows.push(row as Row)
      }
      return rows
    },
  }
}

/** The string that JSON text is. */
function unquoted(text: string): string {
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
}
