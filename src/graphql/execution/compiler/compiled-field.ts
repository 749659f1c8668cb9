import {
  type FieldNode,
  getArgumentValues,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isIntrospectionType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql'
import { usesVariables } from '../syntax-tree.ts'
import type { OutputWriter } from './compiled-operation.ts'
import { quoted } from './json-text.ts'

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

/** The document uses a feature that compiled operations do not support. */
export class NotCompilable extends Error {
  override readonly name = 'NotCompilable'
}

/**
 * Returns the resolver of a field; null for the default one.
 * @param parent type of the object that has the field
 */
export function resolverOf(
  definition: GraphQLField<unknown, unknown>,
  parent: GraphQLObjectType,
  schema: GraphQLSchema,
): CompiledField['resolve'] {
  const { resolve } = definition
  // A fourth parameter is `info`, which compiled operations do not provide.
  if (resolve === undefined || resolve.length <= 3) return (resolve as CompiledField['resolve'] | undefined) ?? null
  if (!isIntrospection(definition, parent)) throw new NotCompilable()
  // Of `info`, the resolvers of introspection use the schema alone.
  const info = { schema } as GraphQLResolveInfo
  return (value, args, context) => resolve(value, args, context, info)
}

function isIntrospection(definition: GraphQLField<unknown, unknown>, parent: GraphQLObjectType): boolean {
  return definition === SchemaMetaFieldDef || definition === TypeMetaFieldDef || isIntrospectionType(parent)
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
