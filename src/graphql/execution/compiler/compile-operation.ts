import {
  type DocumentNode,
  type FieldNode,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql'
import { operationCacheLimits } from '../../../limits.ts'
import { type CollectFields, type Conditional, fieldCollector } from './collect-fields.ts'
import { type CompiledField, constantArguments, NotCompilable, resolverOf, typeNameField } from './compiled-field.ts'
import { definitionOf } from '../syntax-tree.ts'
import { CompiledOperation, type OutputWriter } from './compiled-operation.ts'
import { asBody, byType, enumOf, leafOf, listOf, nullable, objectOf, onceEach } from './writers.ts'

/** The part of the data that is the body of a REST response, whose JSON text is written separately. */
export interface BodySelection {
  /** Response keys of the path to the body, which contains no list. */
  readonly bodyPath: readonly string[]
  /** Maps names of enum values to their text in the body. */
  readonly enumTextOf: (name: string) => string
}

const wholeData: BodySelection = { bodyPath: [], enumTextOf: (name) => name }

/**
 * Compiles an operation of a valid document.
 * @param isIncluded whether @skip and @include include a node in the operation
 * @param maxFields maximum number of its fields
 * @param body part of the data that is written separately; the data has null instead
 * @returns null for resolvers that take `info`, but for those of introspection, too many fields, and abstract types other than
 *   interfaces with `typeNameOf` among their extensions, a function from a value to the name of its type
 */
export function compileOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  isIncluded: (node: Conditional) => boolean,
  maxFields: number = operationCacheLimits.fields,
  body = wholeData,
): CompiledOperation | null {
  // A subscription is compiled like a query, and run once per event.
  const root = schema.getRootType(operation.operation)
  if (operation.operation === OperationTypeNode.MUTATION || root == null) return null
  try {
    const compiler = new Compiler(schema, fieldCollector(schema, document, isIncluded), body.enumTextOf, maxFields)
    const write = compiler.object(root, [operation.selectionSet], body.bodyPath)
    return new CompiledOperation(compiler.fields, write)
  } catch (error) {
    if (error instanceof NotCompilable) return null
    throw error
  }
}

class Compiler {
  fields = 0
  /** Compiled selections: the selection of a fragment is compiled once, however often it is spread. */
  readonly #objects = new Map<SelectionSetNode, { readonly type: GraphQLObjectType; readonly write: OutputWriter }>()

  constructor(
    readonly schema: GraphQLSchema,
    readonly collect: CollectFields,
    readonly enumTextOf: BodySelection['enumTextOf'],
    readonly maxFields: number,
  ) {}

  /**
   * Compiles the selections of an object type.
   * @param pathToBody path of response keys to the body; empty if this object does not contain it
   */
  object(
    type: GraphQLObjectType,
    selectionSets: readonly SelectionSetNode[],
    pathToBody: readonly string[] = [],
  ): OutputWriter {
    if (type.isTypeOf != null) throw new NotCompilable()
    return objectOf(
      Array.from(this.collect(type, selectionSets), ([key, same], index) => {
        const label = `${index === 0 ? '' : ','}${JSON.stringify(key)}:`
        return { label, ...this.#field(type, same, key === pathToBody[0] ? pathToBody.slice(1) : null) }
      }),
    )
  }

  #known(type: GraphQLObjectType, selectionSets: readonly SelectionSetNode[]): OutputWriter {
    const [only, ...others] = selectionSets
    if (only === undefined || others.length > 0) return this.object(type, selectionSets)
    const known = this.#objects.get(only)
    if (known?.type === type) return known.write
    const write = this.object(type, selectionSets)
    this.#objects.set(only, { type, write })
    return write
  }

  /** Compiles the selection for each type that implements the interface. */
  #interface(type: GraphQLInterfaceType, selectionSets: readonly SelectionSetNode[]): OutputWriter {
    const { typeNameOf } = type.extensions
    if (typeof typeNameOf !== 'function') throw new NotCompilable()
    const writers = this.schema
      .getPossibleTypes(type)
      .map((each) => [each.name, this.object(each, selectionSets)] as const)
    return byType(typeNameOf as (value: unknown) => string, new Map(writers))
  }

  /**
   * Compiles a field.
   * @param pathToBody the remaining path to the body; null if it does not include this field
   */
  #field(
    parent: GraphQLObjectType,
    nodes: readonly FieldNode[],
    pathToBody: readonly string[] | null,
  ): Omit<CompiledField, 'label'> {
    const [node] = nodes as [FieldNode]
    if (++this.fields > this.maxFields) throw new NotCompilable()
    if (node.name.value === '__typename') return typeNameField(parent.name, node)
    const field = definitionOf(node.name.value, parent)
    if (field === undefined) throw new NotCompilable()
    const write = this.#write(field.type, nodes, pathToBody ?? [])
    return {
      definition: field,
      node,
      resolve: resolverOf(field, parent, this.schema),
      args: constantArguments(field, node),
      write: pathToBody?.length === 0 ? asBody(write) : write,
    }
  }

  #write(
    type: GraphQLOutputType,
    nodes: readonly FieldNode[],
    pathToBody: readonly string[],
    isItem = false,
  ): OutputWriter {
    const write = this.#writeNonNull(isNonNullType(type) ? type.ofType : type, nodes, pathToBody, isItem)
    return nullable(write, isNonNullType(type))
  }

  /** Returns the writer of non-null values. */
  #writeNonNull(
    type: GraphQLOutputType,
    nodes: readonly FieldNode[],
    pathToBody: readonly string[],
    isItem: boolean,
  ): OutputWriter {
    if (isListType(type)) return listOf(this.#write(type.ofType, nodes, [], true))
    if (isLeafType(type)) return isEnumType(type) ? enumOf(type, this.enumTextOf) : leafOf(type)
    const selectionSets = nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
    if (isInterfaceType(type) && pathToBody.length === 0) return this.#interface(type, selectionSets)
    if (!isObjectType(type)) throw new NotCompilable()
    const write =
      pathToBody.length === 0 ? this.#known(type, selectionSets) : this.object(type, selectionSets, pathToBody)
    // The items of a list are seldom equal, and an object without nested objects is written as fast as it is looked up.
    return isItem || !selectionSets.some(isNested) ? write : onceEach(write)
  }
}

/** Returns whether a selection may contain objects. */
function isNested({ selections }: SelectionSetNode): boolean {
  return selections.some((node) => node.kind !== Kind.FIELD || node.selectionSet !== undefined)
}
