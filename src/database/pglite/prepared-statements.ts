import { type PGlite, protocol } from '@electric-sql/pglite'
import type { Statement, Value } from '../database.ts'
import type { RunStatement } from '../transaction-queue.ts'

const { serialize } = protocol

/** Parameter types and columns of a prepared statement. */
interface StatementDescription {
  readonly types: number[]
  readonly fields: readonly Field[]
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

type Messages = Awaited<ReturnType<PGlite['execProtocolStream']>>

/**
 * Returns a runner that describes each statement once, and prepares those with `prepare: 'once'`. PGlite's own queries
 * describe a statement each time, in six calls into the database, which takes several times as long as most writes.
 * @param pglite runs the statements inside a transaction that is open already
 * @see PostgreSQL documentation, "Message Flow", section "Extended Query"
 */
export function createStatementRunner(pglite: PGlite): RunStatement {
  const descriptions = new Map<string, StatementDescription>()
  const describe = async (statement: Statement): Promise<StatementDescription> => {
    const name = preparedName(statement)
    const messages = await exchange(
      pglite,
      serialize.parse({ name, text: statement.text }),
      serialize.describe({ type: 'S', name }),
    )
    const types = messagesNamed<{ dataTypeIDs: number[] }>(messages, 'parameterDescription')[0]?.dataTypeIDs ?? []
    const fields = messagesNamed<{ fields: Field[] }>(messages, 'rowDescription')[0]?.fields ?? []
    descriptions.set(statement.name, { types, fields })
    return { types, fields }
  }
  return <Row>(statement: Statement, values: readonly Value[]) =>
    pglite.runExclusive(async () => {
      const { types, fields } = descriptions.get(statement.name) ?? (await describe(statement))
      const name = preparedName(statement)
      const parsed = name === '' ? [serialize.parse({ text: statement.text, types })] : []
      const texts = values.map((value, at) => encodeValue(pglite, value, types[at]))
      const bound = serialize.bind({ statement: name, values: texts })
      const messages = await exchange(pglite, ...parsed, bound, serialize.execute({}))
      const rows = messagesNamed<{ fields: (string | null)[] }>(messages, 'dataRow')
      return rows.map((row) => decodeRow(pglite, fields, row.fields) as Row)
    })
}

/** Returns the name of the prepared statement; empty for one that is planned each time. */
function preparedName({ name, prepare = 'each time' }: Statement): string {
  return prepare === 'once' ? name : ''
}

/** Sends messages and a Sync, after which the protocol continues even where one of them failed. */
function exchange(pglite: PGlite, ...messages: readonly Uint8Array[]): Promise<Messages> {
  return pglite.execProtocolStream(Buffer.concat([...messages, serialize.sync()]), { syncToFs: false })
}

function messagesNamed<Message>(messages: Messages, name: Messages[number]['name']): Message[] {
  return messages.filter((message) => message.name === name) as unknown as Message[]
}

function encodeValue({ serializers }: PGlite, value: Value, type = 0): string | null {
  if (value === null) return null
  return serializers[type]?.(value) ?? String(value)
}

function decodeRow({ parsers }: PGlite, fields: readonly Field[], texts: readonly (string | null)[]): unknown {
  const decodeField = ({ dataTypeID }: Field, text: string | null | undefined): unknown =>
    text === null || text === undefined ? null : (parsers[dataTypeID]?.(text, dataTypeID) ?? text)
  return Object.fromEntries(fields.map((field, at) => [field.name, decodeField(field, texts[at])]))
}
