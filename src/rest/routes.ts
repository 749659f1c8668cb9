import {
  EquityDocument,
  EventsDocument,
  SnapshotDocument,
  StrategiesDocument,
  type TypedDocumentString,
  UniverseDocument,
  UniversePairsDocument,
} from './documents.generated.ts'
import { eventTypes, integer, type Parameter, text } from './parameters.ts'

/** Any of the documents: its types matter to its route alone. */
export type Document = { toString(): string }

/** What a path answers: the body, and the cursor of what follows where there is more. */
export interface Shaped {
  readonly body: unknown
  readonly next?: string | null
}

/** A path of the interface: the document it runs, what its parameters are, and how the answer becomes the body. */
export interface Route {
  /** Segments with a colon are parameters, and give the variable of their name. */
  readonly path: string
  readonly document: Document
  readonly parameters: Readonly<Record<string, Parameter>>
  /** Null where the vault isn't known. */
  readonly shape: (data: never) => Shaped | null
}

function route<Data>(
  path: string,
  document: TypedDocumentString<Data, never>,
  parameters: Readonly<Record<string, Parameter>>,
  shape: (data: Data) => Shaped | null,
): Route {
  return { path, document, parameters, shape }
}

/** The six paths, in the order of the interface. */
export const routes: readonly Route[] = [
  route('/vault/:address/snapshot', SnapshotDocument, {}, ({ vault }) => {
    return vault && { body: { ...vault, status: word(vault.status) } }
  }),

  route(
    '/vault/:address/equity',
    EquityDocument,
    { since: integer('since'), until: integer('until'), points: integer('points') },
    ({ vault }) => vault && { body: vault.equity },
  ),

  route(
    '/vault/:address/events',
    EventsDocument,
    {
      type: eventTypes('type'),
      since: integer('since'),
      until: integer('until'),
      limit: integer('first'),
      cursor: text('after'),
    },
    ({ vault }) => {
      if (vault === null) return null
      const { nodes, pageInfo } = vault.events
      const body = nodes.map((row) => ({ ...row, type: word(row.type) }))
      return { body, next: pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null }
    },
  ),

  route('/strategies', StrategiesDocument, {}, ({ strategies }) => ({ body: strategies })),

  route('/universe', UniverseDocument, {}, ({ universe }) => ({
    body: universe.assets.map((asset) => ({ ...asset, category: word(asset.category) })),
  })),

  route('/universe/pairs', UniversePairsDocument, {}, ({ universe }) => ({ body: universe.pairs })),
]

/** A value of an enum in the words of the interface: `STOCK_TOKEN` is `stock token`. */
function word(value: string): string {
  return value.toLowerCase().replaceAll('_', ' ')
}
