import { hash } from 'node:crypto'
import { GraphQLError } from 'graphql'
import { FairCache } from '../../fairness/fair-cache.ts'
import { persistedOperationLimits } from '../../limits.ts'

/** Texts of operations by id, from the operator's manifest. */
export type KnownOperations = ReadonlyMap<string, string>

/** The parameters of a request that name its document, as they were sent. */
export interface DocumentParams {
  readonly query?: unknown
  readonly extensions?: unknown
}

/** The document that a request names by text or id. */
export interface RequestedDocument {
  readonly text: string
  /** Stores the text under the id that the client sent with it, for requests with the id alone. */
  readonly keep: (text: string) => void
}

/**
 * Creates the lookup of documents that clients send as the SHA-256 hash of their text, as Apollo Client does (automatic
 * persisted queries). The first client sends hash and text, later ones the hash alone. Texts are stored in a cache
 * that is fair to clients; those of the manifest are never evicted.
 * @param maxBytes of a stored text: a longer one is refused before it runs, and is not hashed
 * @returns a function of the parameters of a request and its sender; null if they have neither text nor id. It throws a GraphQLError
 *   if the client must send the text, or if the hash is not that of the text
 * @see https://www.apollographql.com/docs/apollo-server/performance/apq
 */
export function createFindDocument(maxBytes: number, known: KnownOperations = new Map()) {
  const { bytes, entries } = persistedOperationLimits
  const kept = new FairCache<string>(bytes)
  const bytesOf = (text: string): number => Math.max(2 * text.length + overheadBytes, Math.ceil(bytes / entries))

  function find(id: string, sender: string): RequestedDocument {
    const text = known.get(id) ?? kept.get(id, sender)
    // Clients compare message and code, and then send the text.
    if (text === undefined) throw refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 404)
    return { text, keep: keepNothing }
  }

  function keep(id: string, text: string, sender: string): void {
    if (kept.get(id, sender) === undefined) kept.set(id, text, bytesOf(text), sender)
  }

  return ({ query: text, extensions }: DocumentParams, sender: string): RequestedDocument | null => {
    const id = idIn(extensions)
    if (text === undefined || text === null) return id === null ? null : find(id, sender)
    if (typeof text !== 'string') return null
    if (id === null || known.get(id) === text || Buffer.byteLength(text) > maxBytes) return { text, keep: keepNothing }
    if (hash('sha256', text) !== id) {
      throw refusal('sha256Hash is not the SHA-256 hash of the query, in hexadecimal digits.', 'BAD_REQUEST', 400)
    }
    return { text, keep: (copy) => keep(id, copy, sender) }
  }
}

export type FindDocument = ReturnType<typeof createFindDocument>

/** Size of an entry besides its text, in bytes: its id, and the cache's own records. */
const overheadBytes = 500

const keepNothing = (): void => undefined

/** Returns the id of a persisted query; null if the client sends none. */
function idIn(extensions: unknown): string | null {
  const persisted = memberOf(extensions, 'persistedQuery')
  if (persisted === undefined || persisted === null) return null
  const id = memberOf(persisted, 'sha256Hash')
  // Clients that receive this error send texts from then on.
  if (memberOf(persisted, 'version') !== 1) {
    throw refusal('PersistedQueryNotSupported', 'PERSISTED_QUERY_NOT_SUPPORTED', 400)
  }
  if (typeof id !== 'string') throw refusal('persistedQuery has no sha256Hash.', 'BAD_REQUEST', 400)
  return id
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}

/** Creates the error of a request that does not run: 200 where GraphQL over HTTP requires it for application/json. */
function refusal(message: string, code: string, status: number): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status, spec: true } } })
}
