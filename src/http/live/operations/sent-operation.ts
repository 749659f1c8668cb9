import { GraphQLError } from 'graphql'
import type { OperationParams } from '../../../graphql/execution/prepared-operation.ts'
import { isJsonPost, objectIn } from '../../graphql/json-post.ts'
import { hasEncodedQuery } from '../../graphql/percent-encoding.ts'
import type { RequestedDocument, DocumentParams, FindDocument } from '../../graphql/persisted-operations.ts'
import type { Exchange } from '../../middleware.ts'

/** An operation as a client sends it. */
export interface SentOperation extends OperationParams {
  readonly query: string
  /** Stores the text for requests that send its hash alone; called once the text is known to be valid. */
  readonly keep: () => void
}

/**
 * Parses the operation of a request, which sends its text, its hash, or both.
 * @returns null if there is no operation, or it is malformed, or its hash is unknown: Yoga then refuses the request
 */
export function sentOperation({ request, body, sender }: Exchange, findDocument: FindDocument): SentOperation | null {
  const isGet = request.method === 'GET'
  if (isGet && !hasEncodedQuery(request.target)) return null
  const sent = isGet ? parametersIn(request.query) : isJsonPost(request) ? objectIn(body) : null
  if (sent === null || (!isGet && Object.keys(sent).some((name) => !parameters.includes(name)))) return null
  const variables: unknown = isGet ? parsed(sent.variables) : (sent.variables ?? null)
  const extensions: unknown = isGet ? parsed(sent.extensions) : (sent.extensions ?? null)
  const operationName: unknown = sent.operationName ?? null
  if (!isObjectOrNull(variables) || !isObjectOrNull(extensions)) return null
  if (operationName !== null && typeof operationName !== 'string') return null
  const requested = documentOf({ query: sent.query, extensions }, sender, findDocument)
  if (requested === null) return null
  return {
    query: requested.text,
    operationName,
    variables,
    keep: () => requested.keep(requested.text),
  }
}

/** Returns the parameters of a GET as Yoga reads them: the first of equal names counts, and an empty one is none. */
function parametersIn(query: URLSearchParams): Readonly<Record<string, string>> {
  const first = Object.fromEntries([...query].reverse())
  return Object.fromEntries(Object.entries(first).filter(([, value]) => value !== ''))
}

/** Parameters of a POST: Yoga refuses others. */
const parameters: readonly string[] = ['query', 'operationName', 'variables', 'extensions']

function isObjectOrNull(value: unknown): value is Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && !Array.isArray(value)
}

function documentOf(params: DocumentParams, sender: string, findDocument: FindDocument): RequestedDocument | null {
  try {
    return findDocument(params, sender)
  } catch (error) {
    if (error instanceof GraphQLError) return null
    throw error
  }
}

/** Parses a parameter of a GET; undefined if it is no JSON object. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return null
  return text.trim() === 'null' ? null : (objectIn(Buffer.from(text)) ?? undefined)
}
