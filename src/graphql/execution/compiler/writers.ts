import { getArgumentValues, type GraphQLEnumType, type GraphQLLeafType } from 'graphql'
import { charactersAtOnce } from '../../../limits.ts'
import type { CompiledField } from './compiled-field.ts'
import { type CompiledRun, type OutputText, type OutputWriter, Pieces, totalLength } from './compiled-operation.ts'
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
    for (const field of fields) {
      const { label, definition, resolve, write } = field
      text += label
      const value =
        resolve === null
          ? (parent as Readonly<Record<string, unknown>>)[definition.name]
          : resolve(parent, argumentsOf(field, run), run.context)
      // The default resolver calls a method with the arguments of a resolver, including `info`.
      if (resolve === null && typeof value === 'function') throw new Unexpected()
      if (value instanceof Promise) {
        ;(pieces ??= []).push(text)
        run.insertWhenResolved(value, write, pieces)
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

/** Returns the arguments of a field: one object for all its parents, computed once per run if they use variables. */
function argumentsOf(field: CompiledField, run: CompiledRun): Record<string, unknown> {
  const known = field.args ?? run.arguments.get(field)
  if (known !== undefined) return known
  const args = getArgumentValues(field.definition, field.node, run.variables)
  run.arguments.set(field, args)
  return args
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

/**
 * Returns a writer of lists. Long ones are written in slices, between which the event loop runs. Precondition: a list holds only
 * promises, or none. Promises add no characters, so that all of them get handlers in the first slice; one in a later slice could
 * reject before it has a handler.
 */
export function listOf(writeItem: OutputWriter): OutputWriter {
  return (value, run) => {
    if (!Array.isArray(value)) throw new Unexpected()
    const list: ListInProgress = { items: value, next: 0, texts: [], characters: 0, isWhole: true }
    const isEnd = writeSlice(list, writeItem, run)
    if (isEnd && list.isWhole) {
      run.count(totalLength(list.texts))
      return `[${list.texts.join(',')}]`
    }
    if (!isEnd) run.waitFor(writeOn(list, writeItem, run))
    return new Pieces(list.texts, '[', ',', ']')
  }
}

interface ListInProgress {
  readonly items: readonly unknown[]
  /** Index of the next item. */
  next: number
  readonly texts: OutputText[]
  /** Length of the complete texts of the last slice. */
  characters: number
  /** Whether all texts so far are complete. */
  isWhole: boolean
}

/**
 * Writes the next items of a list, until their texts have more than {@link charactersAtOnce}.
 * @returns whether there are no further items
 */
function writeSlice(list: ListInProgress, writeItem: OutputWriter, run: CompiledRun): boolean {
  const { items, texts } = list
  list.characters = 0
  while (list.next < items.length && list.characters <= charactersAtOnce) {
    const value = items[list.next++]
    if (value instanceof Promise) {
      list.isWhole = false
      run.insertWhenResolved(value, writeItem, texts)
      continue
    }
    const text = writeItem(value, run)
    if (typeof text === 'string') list.characters += text.length
    else list.isWhole = false
    texts.push(text)
  }
  return list.next === items.length
}

/** Writes the other slices of a list, and counts the length of each, so that a response that is too long ends early. */
async function writeOn(list: ListInProgress, writeItem: OutputWriter, run: CompiledRun): Promise<void> {
  for (let isEnd = false; !isEnd;) {
    run.count(list.characters)
    await new Promise((resolve) => setImmediate(resolve))
    if (run.isOver) return
    isEnd = writeSlice(list, writeItem, run)
  }
  run.count(list.characters)
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
