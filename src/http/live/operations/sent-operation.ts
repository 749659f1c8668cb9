import { GraphQLError } from 'graphql'
import type { OperationParams } from '../../../graphql/execution/prepared-operation.ts'
import { isJsonPost, objectIn } from '../../graphql/json-post.ts'
import { graphqlParameters, queryStringProblem } from '../../graphql/encoded-parameters.ts'
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
  if (isGet && queryStringProblem(request.target) !== null) return null
  const sent = isGet ? parametersIn(request.query) : isJsonPost(request) ? objectIn(body) : null
  // Yoga ignores other parameters of a GET, and refuses them in a POST.
  if (sent === null || (!isGet && Object.keys(sent).some((name) => !graphqlParameters.includes(name)))) return null
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

/** Returns the parameters of a GET as Yoga reads them: an empty one is none. */
function parametersIn(query: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries([...query].filter(([, value]) => value !== ''))
}

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
