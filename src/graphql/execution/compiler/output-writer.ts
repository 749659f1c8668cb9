import { type FieldNode, getArgumentValues, type GraphQLField } from 'graphql'
import { CompiledRun, type OutputText, type OutputWriter, Pieces } from './compiled-run.ts'

/** A compiled field. */
export interface CompiledField {
  /** Its response key in quotes, with a colon. */
  readonly label: string
  readonly definition: GraphQLField<unknown, unknown>
  readonly node: FieldNode
  /** Its resolver; null for the default one, which returns a property of the parent. */
  readonly resolve: ((parent: unknown, args: Record<string, unknown>, context: unknown) => unknown) | null
  /** Its arguments; null if they use variables, and are computed in each run. */
  readonly args: Record<string, unknown> | null
  readonly write: OutputWriter
}

/** A resolved value is null, or does not match the type of its field. */
export class Unexpected extends Error {
  override readonly name = 'Unexpected'
}

/** Data of a result as JSON text, written by a compiled operation. */
export class JsonText {
  /** @param body JSON text of the body of a REST response; null if there is none */
  constructor(
    readonly text: string,
    readonly body: string | null,
  ) {}

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** An operation whose fields, arguments and types are resolved. */
export class CompiledOperation {
  /**
   * @param fields number of its fields
   * @param write writes the data
   */
  constructor(
    readonly fields: number,
    readonly write: OutputWriter,
  ) {}

  /**
   * Writes the data, with null in place of the body. Rejects at the first failure; graphql-js then produces the
   * response.
   * @param maxCharacters maximum length of the data
   * @throws {TooLong} when it is longer
   */
  async run(
    rootValue: unknown,
    context: unknown,
    variables: CompiledRun['variables'],
    maxCharacters: number,
  ): Promise<JsonText> {
    const run = new CompiledRun(context, variables, maxCharacters)
    const text = this.write(rootValue, run)
    await run.settled()
    run.limit(text.length + (run.body?.length ?? 0))
    const json = new JsonText(text.toString(), run.body?.toString() ?? null)
    // References to the run may outlive it.
    run.written.clear()
    run.body = null
    return json
  }
}

/**
 * Returns a writer that writes equal values once per run: a strategy of fifty vaults is one object, for which the
 * resolvers always return the same results.
 */
export function onceEach(write: OutputWriter): OutputWriter {
  return (value, run) => {
    const written = run.written.get(write) ?? new Map<unknown, OutputText>()
    run.written.set(write, written)
    const known = written.get(value)
    if (known !== undefined) return known
    const text = write(value, run)
    written.set(value, text)
    return text
  }
}

/** Returns a writer of objects with these fields. */
export function objectOf(fields: readonly CompiledField[]): OutputWriter {
  return (parent, run) => {
    let text = '{'
    let pieces: OutputText[] | undefined
    for (const { label, definition, node, resolve, args, write } of fields) {
      text += label
      const value =
        resolve === null
          ? (parent as Readonly<Record<string, unknown>>)[definition.name]
          : resolve(parent, args ?? getArgumentValues(definition, node, run.variables), run.context)
      // The default resolver calls a method with the arguments of a resolver, including `info`.
      if (resolve === null && typeof value === 'function') throw new Unexpected()
      if (value instanceof Promise) {
        ;(pieces ??= []).push(text)
        run.later(value, write, pieces)
        text = ''
        continue
      }
      const written = write(value, run)
      if (typeof written === 'string') text += written
      else {
        ;(pieces ??= []).push(text, written)
        text = ''
      }
    }
    if (pieces === undefined) return `${text}}`
    pieces.push(`${text}}`)
    return new Pieces(pieces, '', '', '')
  }
}

/** Returns a writer that selects the writer of the value's object type. */
export function byType(
  typeNameOf: (value: unknown) => string,
  writers: ReadonlyMap<string, OutputWriter>,
): OutputWriter {
  return (value, run) => {
    const write = writers.get(typeNameOf(value))
    if (write === undefined) throw new Unexpected()
    return write(value, run)
  }
}

/** Returns a writer of lists. */
export function listOf(writeItem: OutputWriter): OutputWriter {
  return (value, run) => {
    if (!Array.isArray(value)) throw new Unexpected()
    const items: OutputText[] = []
    let isWhole = true
    for (const item of value as unknown[]) {
      if (item instanceof Promise) {
        isWhole = false
        run.later(item, writeItem, items)
        continue
      }
      const text = writeItem(item, run)
      if (typeof text !== 'string') isWhole = false
      items.push(text)
    }
    return isWhole ? run.join(items as string[]) : new Pieces(items, '[', ',', ']')
  }
}

/** Returns a writer that handles null: `null` for a nullable type, an error for a non-null one. */
export function nullable(write: OutputWriter, isNonNull: boolean): OutputWriter {
  return (value, run) => {
    if (value != null) return write(value, run)
    if (isNonNull) throw new Unexpected()
    return 'null'
  }
}

/** Returns a writer that stores the text as the body of a REST response, and writes null in its place. */
export function asBody(write: OutputWriter): OutputWriter {
  return (value, run) => {
    run.body = write(value, run)
    return 'null'
  }
}
