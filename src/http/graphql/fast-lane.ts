import type { DocumentNode } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { RequestContext } from '../../graphql/execution/context.ts'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import { schema } from '../../graphql/schema/schema.ts'
import type { BoundedExecution } from './bounded-execution.ts'
import type { Answer, IncomingRequest } from '../request-context.ts'

/** What a body in JSON asks. */
export interface GraphqlParams {
  readonly query: string
  readonly variables?: unknown
  readonly operationName?: unknown
}

/** What GraphQL over HTTP has in it, and nothing that it hasn't. */
interface PlainlyAsked extends GraphqlParams {
  readonly variables?: Readonly<Record<string, unknown>> | null
  readonly operationName?: string | null
}

export interface FastLaneOptions {
  readonly execution: BoundedExecution
  /** The documents that are kept, by their text. */
  readonly documents: Pick<LRUCache<string, DocumentNode>, 'get'>
  /** Those of them that were found valid. */
  readonly valid: WeakSet<DocumentNode>
}

/**
 * Answers what was asked before with other variables, without passing through Yoga. It knows the plain success of a valid
 * document alone, with the head that Yoga gave to one: all else is Yoga's to answer.
 */
export interface FastLane {
  /** Null where it is Yoga's to answer. */
  answer(request: IncomingRequest, asked: GraphqlParams, making: RequestContext): Promise<Answer | null>
  /** Remembers the head of a success. */
  learn(request: IncomingRequest, success: Answer): void
}

/** Clients send a few, always the same. */
const mostHeads = 100
const longestHeadKey = 1_000

export function createFastLane({ execution, documents, valid }: FastLaneOptions): FastLane {
  const heads = new LRUCache<string, Answer['headers']>({ max: mostHeads })
  return {
    async answer(request, asked, making) {
      const key = headKey(request)
      const headers = key === null ? undefined : heads.get(key)
      const document = documents.get(asked.query)
      if (headers === undefined || document === undefined || !valid.has(document) || !isPlain(asked)) return null
      const { variables, operationName } = asked
      const args = { schema, document, operationName, variableValues: variables }
      const { error, run, extensions } = execution(args)
      if (error !== null) return null
      const result = await run(args, { making })
      return result.errors === undefined ? { status: 200, headers, body: resultText({ ...result, extensions }) } : null
    },

    learn(request, { headers }) {
      const key = headKey(request)
      if (key !== null && !heads.has(key)) heads.set(key, headers)
    },
  }
}

/** What a success's head depends on; null where it isn't known to depend on nothing else. */
function headKey(request: IncomingRequest): string | null {
  const type = request.header('content-type') ?? ''
  const key = `${type}\n${request.header('accept') ?? ''}`
  const isJson = request.method === 'POST' && request.target === request.path && type.startsWith('application/json')
  return isJson && key.length <= longestHeadKey ? key : null
}

const parameters: readonly string[] = ['query', 'variables', 'operationName']

/** What a body asks in JSON; null where it doesn't. */
export function askedIn(body: Buffer): GraphqlParams | null {
  let json: unknown
  try {
    json = JSON.parse(body.toString())
  } catch {
    return null
  }
  return isObject(json) && typeof json['query'] === 'string' ? (json as object as GraphqlParams) : null
}

function isPlain(asked: GraphqlParams): asked is PlainlyAsked {
  const { variables, operationName } = asked
  const isNamed = operationName == null || typeof operationName === 'string'
  return (
    isNamed &&
    (variables == null || isObject(variables)) &&
    Object.keys(asked).every((name) => parameters.includes(name))
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
