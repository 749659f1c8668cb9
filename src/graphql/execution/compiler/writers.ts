import { getArgumentValues, type GraphQLEnumType, type GraphQLLeafType } from 'graphql'
import type { CompiledField } from './compiled-field.ts'
import { type OutputText, type OutputWriter, Pieces } from './compiled-run.ts'
import { leafText, quoted } from './json-text.ts'

/** A resolved value is null, or does not match the type of its field. */
class Unexpected extends Error {
  override readonly name = 'Unexpected'
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

/** Returns the writer of an enum. */
export function enumOf(type: GraphQLEnumType, enumTextOf: (name: string) => string): OutputWriter {
  const texts = new Map(type.getValues().map(({ name, value }) => [value as unknown, quoted(enumTextOf(name))]))
  return (value) => {
    const text = texts.get(value)
    if (text === undefined) throw new Unexpected()
    return text
  }
}

/** Returns the writer of a scalar. */
export function leafOf(type: GraphQLLeafType): OutputWriter {
  const { jsonText } = type.extensions
  if (typeof jsonText === 'function') return jsonText as OutputWriter
  return (value) => {
    const serialized = type.serialize(value)
    if (serialized == null) throw new Unexpected()
    return leafText(serialized)
  }
}
