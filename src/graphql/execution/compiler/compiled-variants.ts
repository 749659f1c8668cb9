import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { operationCacheLimits } from '../../../limits.ts'
import type { Conditional } from './collect-fields.ts'
import { type BodySelection, compileOperation } from './compile-operation.ts'
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
 * The compiled variants of an operation: one for each body that is written separately, and each combination of the variables of its
 * @skip and @include. They are compiled on first use, and stored while there are places.
 */
export class CompiledVariants {
  readonly #source: CompilationSource
  /** Names of the variables of @skip and @include. */
  readonly #conditions: readonly string[]
  readonly #onCompiled: () => void
  /** Variants by body and combination; null for one that cannot be compiled. */
  readonly #stored = new Map<BodySelection | undefined, Map<string, CompiledOperation | null>>()
  #count = 0

  /** @param onCompiled called after the compilation of each stored variant, when `fields` has grown */
  constructor(source: CompilationSource, onCompiled: () => void) {
    this.#source = source
    this.#conditions = conditionsOf(source.document, source.definition).map(({ variable }) => variable.name.value)
    this.#onCompiled = onCompiled
  }

  /** Number of fields of all stored variants. */
  get fields(): number {
    let fields = 0
    for (const variants of this.#stored.values())
      for (const variant of variants.values()) fields += variant?.fields ?? 1
    return fields
  }

  /**
   * Returns the stored variant for these variables, or compiles and stores it.
   * @param variables coerced; those of @skip and @include select the variant
   * @param body part of the data that is written separately; the data has null instead
   * @returns null if it cannot be compiled; undefined if it is not stored and other variants have taken all places
   */
  get(variables: Variables, body?: BodySelection): CompiledOperation | null | undefined {
    const variants = this.#stored.get(body)
    const key = this.#conditions.map((name) => String(variables[name])).join()
    const known = variants?.get(key)
    if (known !== undefined || this.#count >= operationCacheLimits.variants) return known
    const compiled = this.#compile(variables, body, operationCacheLimits.fields)
    if (variants === undefined) this.#stored.set(body, new Map([[key, compiled]]))
    else variants.set(key, compiled)
    this.#count++
    this.#onCompiled()
    return compiled
  }

  /**
   * Compiles a small variant, and does not store it.
   * @returns null if it is large or cannot be compiled
   */
  compileForRun(variables: Variables, body?: BodySelection): CompiledOperation | null {
    return this.#compile(variables, body, operationCacheLimits.fieldsOfRun)
  }

  #compile(variables: Variables, body: BodySelection | undefined, maxFields: number): CompiledOperation | null {
    const { schema, document, definition } = this.#source
    const isIncluded = (node: Conditional): boolean => includes(node, variables)
    return compileOperation(schema, document, definition, isIncluded, body, maxFields)
  }
}
