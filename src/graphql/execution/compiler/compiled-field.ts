import { type FieldNode, getArgumentValues, type GraphQLField, TypeNameMetaFieldDef } from 'graphql'
import { usesVariables } from '../syntax-tree.ts'
import { quoted } from './json-text.ts'
import type { CompiledField } from './output-writer.ts'

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

/** Returns the arguments of a field; null if they use variables, and are computed in each run. */
export function constantArguments(field: GraphQLField<unknown, unknown>, node: FieldNode): CompiledField['args'] {
  if (usesVariables(node.arguments ?? [])) return null
  try {
    return getArgumentValues(field, node)
  } catch {
    throw new NotCompilable()
  }
}

/** Returns the field `__typename` of an object type. */
export function typeNameField(typeName: string, node: FieldNode): Omit<CompiledField, 'label'> {
  const text = quoted(typeName)
  return { definition: TypeNameMetaFieldDef, node, resolve: () => typeName, args: {}, write: () => text }
}
