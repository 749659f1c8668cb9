import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { operationCacheLimits } from '../../../limits.ts'
import type { Conditional } from './collect-fields.ts'
import { compileOperation } from './compile-operation.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import { conditionsOf, includes } from './conditions.ts'

type Variables = Readonly<Record<string, unknown>>

/** An operation, with its valid document and schema. */
interface CompilationSource {
  readonly schema: GraphQLSchema
  readonly document: DocumentNode
  readonly definition: OperationDefinitionNode
}

/**
 * A stored variant; null if the operation cannot be compiled for its variables; `no place` if it is not stored, since others have
 * taken all places.
 */
export type StoredVariant = CompiledOperation | null | 'no place'

/**
 * The compiled variants of a client's operation: one for each combination of the variables of its @skip and @include. They are
 * compiled on first use, and stored while there are places.
 */
export class CompiledVariants {
  readonly #source: CompilationSource
  /** Names of the variables of @skip and @include. */
  readonly #conditions: readonly string[]
  readonly #onCompiled: () => void
  /** Variants by combination; null for one that cannot be compiled. */
  readonly #stored = new Map<string, CompiledOperation | null>()

  /** @param onCompiled called after the compilation of each stored variant, when `fields` has grown */
  constructor(source: CompilationSource, onCompiled: () => void) {
    this.#source = source
    this.#conditions = conditionsOf(source.document, source.definition).map(({ variable }) => variable.name.value)
    this.#onCompiled = onCompiled
  }

  /** Number of fields of all stored variants. */
  get fields(): number {
    let fields = 0
    for (const variant of this.#stored.values()) fields += variant?.fields ?? 1
    return fields
  }

  /**
   * Returns the stored variant for these variables, or compiles and stores it.
   * @param variables coerced; those of @skip and @include select the variant
   */
  get(variables: Variables): StoredVariant {
    const key = this.#conditions.map((name) => String(variables[name])).join()
    const known = this.#stored.get(key)
    if (known !== undefined) return known
    if (this.#stored.size >= operationCacheLimits.variants) return 'no place'
    const compiled = this.#compile(variables, operationCacheLimits.fields)
    this.#stored.set(key, compiled)
    this.#onCompiled()
    return compiled
  }

  /**
   * Compiles a small variant, and does not store it.
   * @returns null if it is large or cannot be compiled
   */
  compileForRun(variables: Variables): CompiledOperation | null {
    return this.#compile(variables, operationCacheLimits.fieldsOfRun)
  }

  #compile(variables: Variables, maxFields: number): CompiledOperation | null {
    const { schema, document, definition } = this.#source
    const isIncluded = (node: Conditional): boolean => includes(node, variables)
    return compileOperation(schema, document, definition, isIncluded, maxFields)
  }
}
