import { type PGlite, protocol } from '@electric-sql/pglite'
import type { Statement, Value, Versioned } from '../database.ts'
import { decodeRows } from '../read/row-codec.ts'
import type { RunCopy, RunStatement } from '../transaction-queue.ts'

const { serialize } = protocol

/** Text, parameter types and columns of a prepared statement. */
interface StatementDescription {
  readonly text: string
  readonly types: number[]
  readonly fields: readonly Field[]
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

type Messages = Awaited<ReturnType<PGlite['execProtocolStream']>>

/** Interval at which plans are discarded: tables may have grown, and nothing else invalidates plans of an embedded database. */
const planMilliseconds = 30_000

/** The ways in which an engine runs a statement. */
export interface StatementRunner {
  /** Runs a statement inside a transaction that is open already. Prepares it where it has `prepare: 'once'`. */
  readonly run: RunStatement
  /** Appends rows by COPY inside a transaction that is open already. */
  readonly copy: RunCopy
  /** Runs a read inside a transaction that is open already; its rows are still encoded. Reuses its plan for a while. */
  readonly readInTransaction: (read: Statement, values: readonly Value[]) => Promise<unknown[]>
  /** Runs a read while no transaction is open, and decodes its rows. Reuses its plan for a while. */
  readonly readOutsideTransaction: <Row>(read: Statement, values: readonly Value[]) => Promise<Versioned<Row>>
  /** Rejects all later statements: on a closing database a call of the protocol would never return. */
  readonly close: () => void
}

/**
 * Returns a runner that describes each statement once, and reuses prepared statements. PGlite's `query` describes and plans
 * a statement each time, in six calls into the database, which takes several times as long as most statements.
 * @see PostgreSQL documentation, "Message Flow", section "Extended Query"
 */
export function createStatementRunner(pglite: PGlite): StatementRunner {
  const descriptions = new Map<string, StatementDescription>()
  const prepared = new Set<string>()
  let isClosed = false
  let plannedAt = performance.now()

  const describe = async ({ name: key, text }: Statement, name: string): Promise<StatementDescription> => {
    const messages = await exchange(pglite, serialize.parse({ name, text }), serialize.describe({ type: 'S', name }))
    const types = messagesNamed<{ dataTypeIDs: number[] }>(messages, 'parameterDescription')[0]?.dataTypeIDs ?? []
    const fields = messagesNamed<{ fields: Field[] }>(messages, 'rowDescription')[0]?.fields ?? []
    const description = { text, types, fields }
    if (!descriptions.has(key)) descriptions.set(key, description)
    if (name !== '') prepared.add(name)
    return description
  }
  const execute = (statement: Statement, values: readonly Value[], name: string): Promise<unknown[]> =>
    pglite.runExclusive(async () => {
      if (isClosed) throw new Error('PGlite is closed')
      if (name !== '' && performance.now() - plannedAt > planMilliseconds) {
        plannedAt = performance.now()
        await exchange(pglite, serialize.query('discard plans'))
      }
      const described = descriptions.get(statement.name)
      // The rows of one would be read as those of the other.
      const isOther = described !== undefined && described.text !== statement.text
      if (isOther && name !== '') throw new Error(`Two statements have the name ${name}.`)
      const known = !isOther && (name === '' || prepared.has(name)) ? described : undefined
      const { types, fields } = known ?? (await describe(statement, name))
      const parsed = name === '' ? [serialize.parse({ text: statement.text, types })] : []
      const bound = serialize.bind({ statement: name, values: encodeValues(pglite, values, types) })
      return rowsIn(await exchange(pglite, ...parsed, bound, serialize.execute({})), fields, pglite)
    })
  return {
    run: <Row>(statement: Statement, values: readonly Value[]) =>
      execute(statement, values, statement.prepare === 'once' ? statement.name : '') as Promise<Row[]>,
    copy: ({ text }, rows) =>
      pglite.runExclusive(() => {
        if (isClosed) throw new Error('PGlite is closed')
        // The parameter's type is too narrow: it accepts any bytes.
        const data = Buffer.from(rows) as unknown as ArrayBuffer
        const copied = [serialize.query(text), serialize.copyData(data), serialize.copyDone()]
        return pglite.execProtocolStream(Buffer.concat(copied), { syncToFs: false })
      }),
    readInTransaction: (read, values) => execute(read, values, read.name),
    readOutsideTransaction: async <Row>(read: Statement, values: readonly Value[]) =>
      decodeRows<Row>(read, await pglite._runExclusiveTransaction(() => execute(read, values, read.name))),
    close: () => {
      isClosed = true
    },
  }
}

/** Sends messages and a Sync, after which the protocol continues even where one of them failed. */
function exchange(pglite: PGlite, ...messages: readonly Uint8Array[]): Promise<Messages> {
  return pglite.execProtocolStream(Buffer.concat([...messages, serialize.sync()]), { syncToFs: false })
}

function messagesNamed<Message>(messages: Messages, name: Messages[number]['name']): Message[] {
  return messages.filter((message) => message.name === name) as unknown as Message[]
}

/** Returns a statement's values in text format. Strings are unchanged, also for bytea, whose serializer accepts no strings. */
function encodeValues({ serializers }: PGlite, values: readonly Value[], types: readonly number[]): (string | null)[] {
  const texts: (string | null)[] = []
  for (const [index, value] of values.entries()) {
    if (value === null || typeof value === 'string') texts.push(value)
    else texts.push(serializers[types[index] ?? 0]?.(value) ?? String(value))
  }
  return texts
}

/** Returns the rows among the messages, as objects with a property for each column. */
function rowsIn(messages: Messages, columns: readonly Field[], { parsers }: PGlite): unknown[] {
  const rows: unknown[] = []
  for (const message of messages) {
    if (message.name !== 'dataRow') continue
    const texts = (message as unknown as { readonly fields: readonly (string | null)[] }).fields
    const row: Record<string, unknown> = {}
    for (const [index, { name, dataTypeID }] of columns.entries()) {
      const text = texts[index] ?? null
      row[name] = text === null ? null : (parsers[dataTypeID]?.(text, dataTypeID) ?? text)
    }
    rows.push(row)
  }
  return rows
}
