import {
  type ASTNode,
  type FieldNode,
  getArgumentValues,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLLeafType,
  Kind,
  visit,
} from 'graphql'
import { leafText, quoted } from './json-text.ts'
import { type CompiledField, Unexpected, type OutputWriter } from './output-writer.ts'

/** A document has what plans don't know. */
export class NotCompilable extends Error {
  override readonly name = 'Unplannable'
}

/** What gives the field's value. */
export function resolverOf({ name, resolve }: GraphQLField<unknown, unknown>): CompiledField['resolve'] {
  // A resolver that takes a fourth argument asks how it is asked.
  if (resolve !== undefined && resolve.length > 3) throw new NotCompilable()
  return (resolve as CompiledField['resolve'] | undefined) ?? ((source) => propertyOf(source, name))
}

/** What a field without a resolver gives; a method would be called with all that a resolver is told. */
function propertyOf(source: unknown, name: string): unknown {
  const value = (source as Readonly<Record<string, unknown>>)[name]
  if (typeof value === 'function') throw new Unexpected()
  return value
}

/** Whether there is a node of a kind in another. */
export function has(node: ASTNode, kind: Kind): boolean {
  let found = false
  visit(node, { [kind]: () => void (found = true) })
  return found
}

/** Arguments that no variable has a part in are read once. */
export function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): CompiledField['argsOf'] {
  if (node.arguments?.some((argument) => has(argument, Kind.VARIABLE)) === true)
    return ({ variables }) => getArgumentValues(field, node, variables)
  try {
    const args = getArgumentValues(field, node)
    return () => args
  } catch {
    throw new NotCompilable()
  }
}

export function constantField(value: string): Omit<CompiledField, 'label'> {
  const none = {}
  const text = quoted(value)
  return { resolve: () => value, argsOf: () => none, write: () => text }
}

/** Writes the values of an enum. */
export function enumOf(type: GraphQLEnumType, wordOf: (name: string) => string): OutputWriter {
  const texts = new Map(type.getValues().map(({ name, value }) => [value as unknown, quoted(wordOf(name))]))
  return (value) => {
    const text = texts.get(value)
    if (text === undefined) throw new Unexpected()
    return text
  }
}

/** Writes what a scalar serializes. */
export function leafOf(type: GraphQLLeafType): OutputWriter {
  const { jsonText } = type.extensions
  if (typeof jsonText === 'function') return jsonText as OutputWriter
  return (value) => {
    const serialized = type.serialize(value)
    if (serialized == null) throw new Unexpected()
    return leafText(serialized)
  }
}
