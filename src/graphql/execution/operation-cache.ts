import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoFragmentCyclesRule,
  parse,
  validate,
} from 'graphql'
import { FairCache } from '../../fairness/fair-cache.ts'
import { defaultQueryLimits, maxValidationErrors, operationCacheLimits, type QueryLimits } from '../../limits.ts'
import { costCalculator } from './cost/cost-calculator.ts'
import { nullableVariables } from './null-variables.ts'
import { PreparedOperation } from './prepared-operation.ts'
import { checkFields, checkSize, checkText, tooOftenMerged } from './query-limits.ts'

/** A document after parsing and validation, with an operation prepared for each definition in it. */
export class PreparedDocument {
  readonly #tokens: number
  /** Called after the compilation of each variant of its operations, when `bytes` has grown. */
  onGrown: (() => void) | null = null

  /**
   * @param document null if the text exceeds a limit or is not GraphQL
   * @param errors of size, syntax or validation, which prevent execution
   */
  constructor(
    readonly text: string,
    readonly document: DocumentNode | null,
    readonly errors: readonly GraphQLError[],
    readonly operations: readonly PreparedOperation[] = [],
  ) {
    this.#tokens = document === null ? 0 : tokensOf(document)
  }

  /** Estimated memory of the entry, in bytes. */
  get bytes(): number {
    const { tokenBytes, errorBytes, fieldBytes } = operationCacheLimits
    let fields = 0
    for (const operation of this.operations) fields += operation.compiledFields
    const errors = this.errors.length > 0 ? errorBytes : 0
    return 1 + this.text.length * 2 + this.#tokens * tokenBytes + errors + fields * fieldBytes
  }

  /**
   * Selects an operation by its name.
   * @returns undefined if the document has none of that name, or several and no name is given
   */
  select(operationName: string | null | undefined): PreparedOperation | undefined {
    const [only, ...others] = this.operations
    if (operationName == null) return others.length === 0 ? only : undefined
    return this.operations.find(({ definition: { name } }) => name?.value === operationName)
  }
}

/**
 * The only cache of clients' documents, keyed by text, with a limit on memory; the gateway's own documents are never
 * evicted. Each document is parsed and validated, and its cost computed, once; each variant of its operations is compiled when it is
 * first used. It is a segmented LRU cache: a document enters the protected segment when it is used again, so that
 * documents used once cannot evict it. Each segment is fair to the clients whose documents it holds.
 */
export class OperationCache {
  readonly #schema: GraphQLSchema
  readonly #limits: QueryLimits
  readonly #protected = new FairCache<PreparedDocument>(operationCacheLimits.bytes)
  readonly #probationary = new FairCache<PreparedDocument>(operationCacheLimits.usedOnceBytes)
  /** The gateway's own documents, which are few and never evicted. */
  readonly #fixed = new Map<string, PreparedDocument>()

  constructor(schema: GraphQLSchema, limits: QueryLimits) {
    this.#schema = schema
    this.#limits = limits
  }

  /** Returns a document that a sender uses; undefined if it is not cached. */
  get(text: string, sender: string): PreparedDocument | undefined {
    const known = this.#fixed.get(text) ?? this.#protected.get(text, sender)
    if (known !== undefined) return known
    const again = this.#probationary.delete(text)
    if (again === undefined) return undefined
    this.#protected.set(text, again.value, again.value.bytes, again.sender)
    return this.#protected.get(text, sender) ?? again.value
  }

  /**
   * Prepares a document for a sender: synchronous work of up to about 30 ms. A text that is not GraphQL, or too long, is not
   * cached: its error is found again quickly, and long texts would evict others.
   */
  prepare(sent: string, sender: string): PreparedDocument {
    const text = copied(sent)
    const prepared = this.#prepare(text)
    if (prepared.document !== null) this.#probationary.set(text, prepared, prepared.bytes, sender)
    return prepared
  }

  /**
   * Returns a document of the gateway itself, which is prepared once and never evicted. It is exempt from the limits,
   * which an operator may set to any value.
   */
  fixed(text: string): PreparedDocument {
    const known = this.#fixed.get(text)
    if (known !== undefined) return known
    const prepared = this.#prepare(text, unlimited)
    this.#fixed.set(text, prepared)
    return prepared
  }

  #prepare(text: string, limits = this.#limits): PreparedDocument {
    const tooLong = checkText(text, limits)
    if (tooLong !== null) return new PreparedDocument(text, null, [tooLong])
    const document = parsed(text)
    if (document instanceof GraphQLError) return new PreparedDocument(text, null, [document])
    const errors = validated(this.#schema, document, limits)
    if (errors.length > 0) return new PreparedDocument(text, document, errors)
    const costOf = costCalculator(this.#schema, document)
    const nullableVariablesOf = nullableVariables(this.#schema, document)
    const given = { schema: this.#schema, limits }
    const onCompiled = (): void => {
      this.#weigh(prepared)
      prepared.onGrown?.()
    }
    const definitions = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION)
    const operations = definitions.map((node) => {
      const { size, cost } = costOf(node)
      const checked = { cost, sizeError: checkSize(size, limits), nullableVariables: nullableVariablesOf(node) }
      return new PreparedOperation(given, document, node, checked, onCompiled)
    })
    const prepared = new PreparedDocument(text, document, [], operations)
    return prepared
  }

  /** Updates the size of an entry, which grows with its compiled variants. */
  #weigh(prepared: PreparedDocument): void {
    for (const segment of [this.#protected, this.#probationary]) segment.resize(prepared.text, prepared, prepared.bytes)
  }
}

/** Returns the number of tokens that the syntax tree of a document retains, including comments. */
function tokensOf({ loc }: DocumentNode): number {
  let count = 0
  for (let token = loc?.startToken; token != null; token = token.next ?? undefined) count++
  return count
}

const unlimited = Object.fromEntries(Object.keys(defaultQueryLimits).map((name) => [name, Infinity])) as QueryLimits

/** Copies a text: a substring would keep the whole body in memory, and a concatenation all of its parts. */
function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

function parsed(text: string): DocumentNode | GraphQLError {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof GraphQLError) return error
    throw error
  }
}

/** Message of graphql-js when comparisons of merged fields exceed its own limit. */
const abortedMessage = 'Validation aborted.'

/**
 * Validates a document, with a limit on the number of errors. Fields with the same name in one selection are counted
 * first, because a rule compares each pair of them; fragment cycles are detected first, because other rules recurse
 * along them.
 */
function validated(schema: GraphQLSchema, document: DocumentNode, limits: QueryLimits): readonly GraphQLError[] {
  const tooMany = checkFields(document, limits)
  if (tooMany !== null) return [tooMany]
  const cycles = validate(schema, document, [NoFragmentCyclesRule], { maxErrors: 1 })
  if (cycles.length > 0) return cycles.slice(0, 1)
  try {
    const errors = validate(schema, document, undefined, { maxErrors: maxValidationErrors })
    return errors.some(({ message }) => message === abortedMessage) ? [tooOftenMerged()] : errors
  } catch (error) {
    // The single root field rule of subscriptions evaluates @skip and @include without variables.
    if (!(error instanceof GraphQLError)) throw error
    const message = 'The root field of a subscription must not have @skip or @include with a variable.'
    return [new GraphQLError(message, { nodes: error.nodes ?? null })]
  }
}
