import {
  type FieldNode,
  getArgumentValues,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLLeafType,
} from 'graphql'
import { usesVariables } from '../operation.ts'
import { leafText, quoted } from './json-text.ts'
import { type CompiledField, Unexpected, type OutputWriter } from './output-writer.ts'

/** The document uses a feature that compiled operations do not support. */
export class NotCompilable extends Error {
  override readonly name = 'NotCompilable'
}

/** Returns the resolver of a field; null for the default one. */
export function resolverOf({ resolve }: GraphQLField<unknown, unknown>): CompiledField['resolve'] {
  // A fourth parameter is `info`, which compiled operations do not provide.
  if (resolve !== undefined && resolve.length > 3) throw new NotCompilable()
  return (resolve as CompiledField['resolve'] | undefined) ?? null
}

/** Returns the arguments of a field, or a function that computes them where they use variables. */
export function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): CompiledField['args'] {
  if (usesVariables(node.arguments ?? [])) return (variables) => getArgumentValues(field, node, variables)
  try {
    return getArgumentValues(field, node)
  } catch {
    throw new NotCompilable()
  }
}

/** Returns a field with a constant string value. */
export function constantField(value: string): Omit<CompiledField, 'label'> {
  const text = quoted(value)
  return { property: '', resolve: () => value, args: {}, write: () => text }
}

/** Returns the writer of an enum. */
export function enumOf(type: GraphQLEnumType, wordOf: (name: string) => string): OutputWriter {
  const texts = new Map(type.getValues().map(({ name, value }) => [value as unknown, quoted(wordOf(name))]))
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
