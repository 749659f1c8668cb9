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
import { type FieldPlan, Unexpected, type Write } from './write.ts'

/** A document has what plans don't know. */
export class Unplannable extends Error {
  override readonly name = 'Unplannable'
}

/** What gives the field's value. */
export function resolverOf({ name, resolve }: GraphQLField<unknown, unknown>): FieldPlan['resolve'] {
  // A resolver that takes a fourth argument asks how it is asked.
  if (resolve !== undefined && resolve.length > 3) throw new Unplannable()
  return (resolve as FieldPlan['resolve'] | undefined) ?? ((source) => propertyOf(source, name))
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
export function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): FieldPlan['argsOf'] {
  if (node.arguments?.some((argument) => has(argument, Kind.VARIABLE)) === true)
    return ({ variables }) => getArgumentValues(field, node, variables)
  try {
    const args = getArgumentValues(field, node)
    return () => args
  } catch {
    throw new Unplannable()
  }
}

export function constantField(value: string): Omit<FieldPlan, 'label'> {
  const none = {}
  const text = quoted(value)
  return { resolve: () => value, argsOf: () => none, write: () => text }
}

/** Writes the values of an enum. */
export function enumOf(type: GraphQLEnumType, wordOf: (name: string) => string): Write {
  const texts = new Map(type.getValues().map(({ name, value }) => [value as unknown, quoted(wordOf(name))]))
  return (value) => {
    const text = texts.get(value)
    if (text === undefined) throw new Unexpected()
    return text
  }
}

/** Writes what a scalar serializes. */
export function leafOf(type: GraphQLLeafType): Write {
  const { jsonText } = type.extensions
  if (typeof jsonText === 'function') return jsonText as Write
  return (value) => {
    const serialized = type.serialize(value)
    if (serialized == null) throw new Unexpected()
    return leafText(serialized)
  }
}
