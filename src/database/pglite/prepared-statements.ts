import { type PGlite, protocol } from '@electric-sql/pglite'
import type { Statement, Value } from '../database.ts'
import type { RunStatement } from '../transaction-queue.ts'

const { serialize } = protocol

/** What is known of a statement: the types of its parameters, and its columns. */
interface Described {
  readonly types: number[]
  readonly fields: readonly Field[]
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

type Messages = Awaited<ReturnType<PGlite['execProtocolStream']>>

/**
 * Runs statements that are described once each, and prepared where their plan may be kept. PGlite's own queries are
 * described anew each time, and walk into the database six times, which takes several times as long as most that is
 * written.
 * @param pglite in a transaction, from which the statements are
 */
export function preparing(pglite: PGlite): RunStatement {
  const known = new Map<string, Described>()
  const describe = async (statement: Statement): Promise<Described> => {
    const name = nameOf(statement)
    const told = await exchange(
      pglite,
      serialize.parse({ name, text: statement.text }),
      serialize.describe({ type: 'S', name }),
    )
    const types = found<{ dataTypeIDs: number[] }>(told, 'parameterDescription')[0]?.dataTypeIDs ?? []
    const fields = found<{ fields: Field[] }>(told, 'rowDescription')[0]?.fields ?? []
    known.set(statement.name, { types, fields })
    return { types, fields }
  }
  return <Row>(statement: Statement, values: readonly Value[]) =>
    pglite.runExclusive(async () => {
      const { types, fields } = known.get(statement.name) ?? (await describe(statement))
      const name = nameOf(statement)
      const parsed = name === '' ? [serialize.parse({ text: statement.text, types })] : []
      const texts = values.map((value, at) => textOf(pglite, value, types[at]))
      const bound = serialize.bind({ statement: name, values: texts })
      const told = await exchange(pglite, ...parsed, bound, serialize.execute({}))
      const rows = found<{ fields: (string | null)[] }>(told, 'dataRow')
      return rows.map((row) => rowOf(pglite, fields, row.fields) as Row)
    })
}

/** The name that its plan is kept under; none where it is planned anew. */
function nameOf({ name, hasOnePlan = false }: Statement): string {
  return hasOnePlan ? name : ''
}

/** Ends with a sync, after which the next statement is heard, also where one of the messages fails. */
function exchange(pglite: PGlite, ...messages: readonly Uint8Array[]): Promise<Messages> {
  return pglite.execProtocolStream(Buffer.concat([...messages, serialize.sync()]), { syncToFs: false })
}

function found<Message>(messages: Messages, name: Messages[number]['name']): Message[] {
  return messages.filter((message) => message.name === name) as unknown as Message[]
}

function textOf({ serializers }: PGlite, value: Value, type = 0): string | null {
  if (value === null) return null
  return serializers[type]?.(value) ?? String(value)
}

function rowOf({ parsers }: PGlite, fields: readonly Field[], texts: readonly (string | null)[]): unknown {
  const valueOf = ({ dataTypeID }: Field, text: string | null | undefined): unknown =>
    text === null || text === undefined ? null : (parsers[dataTypeID]?.(text, dataTypeID) ?? text)
  return Object.fromEntries(fields.map((field, at) => [field.name, valueOf(field, texts[at])]))
}
