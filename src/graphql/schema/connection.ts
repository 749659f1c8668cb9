import type { ObjectRef } from '@pothos/core'
import { maxCursorCharacters } from '../../limits.ts'
import { InvalidArgument } from '../../domain/errors.ts'
import { builder } from './builder.ts'

/**
 * A page of a list, in Relay's model of cursor connections.
 * @see https://relay.dev/graphql/connections.htm
 */
export interface Page<Node> {
  readonly nodes: readonly Node[]
  /** Returns the cursor of a node; called only if the response contains it. */
  cursorOf(node: Node): string
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  /** The nodes whose cursors begin and end the page: its own, or the last item examined, if the search ended before it was full. */
  readonly ends: { readonly start: Node | undefined; readonly end: Node | undefined }
  /** Returns the number of items on all pages; called only if it is requested. */
  readonly totalCount: () => Promise<number>
}

interface PageRows<Node> {
  /** The rows of the page, and one more if there is a further page; in reverse order if the page is backward. */
  readonly rows: readonly Node[]
  /** The last item examined, if the search ended there before the page was full: there may be more. */
  readonly lastExamined?: Node | undefined
  /** Maximum length of the page. */
  readonly length: number
  readonly isBackward?: boolean
  /** The cursor after which the page starts, or before which a backward page ends. */
  readonly cursor: string | null | undefined
  readonly cursorOf: (node: Node) => string
  readonly totalCount: () => Promise<number>
}

/** Creates a page from its rows; one row beyond its size shows that there is a further page. */
export function pageOf<Node>({
  rows,
  lastExamined,
  length,
  isBackward = false,
  cursor,
  ...page
}: PageRows<Node>): Page<Node> {
  // A row beyond a full page was examined too, and belongs to the next page.
  const examined = rows.length > length ? undefined : lastExamined
  const [isFurther, hasSkipped] = [rows.length > length || examined !== undefined, cursor != null]
  const found = rows.slice(0, length)
  const last = examined ?? found.at(-1)
  return {
    nodes: isBackward ? found.toReversed() : found,
    hasNextPage: isBackward ? hasSkipped : isFurther,
    hasPreviousPage: isBackward ? isFurther : hasSkipped,
    ends: isBackward ? { start: last, end: found[0] } : { start: found[0], end: last },
    ...page,
  }
}

/** Encodes a cursor, which is opaque to clients: its content may change. */
export function encodeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/**
 * Decodes a cursor.
 * @param argument name of the argument with the cursor
 * @param isOurs returns whether the parts are valid for this list
 * @throws {InvalidArgument} if the cursor is malformed or of another list
 */
export function decodeCursor<Parts extends unknown[]>(
  argument: string,
  cursor: string,
  isOurs: (parts: unknown[]) => parts is Parts,
): Parts {
  try {
    // Buffer skips characters that are not of Base64url, such as what is left of a malformed percent-encoding.
    const isEncoded = cursor.length <= maxCursorCharacters && /^[\w-]+$/.test(cursor)
    const parts: unknown = isEncoded ? JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) : null
    if (Array.isArray(parts) && isOurs(parts)) return parts
  } catch {
    // An undecodable cursor is refused below, like a cursor of another list.
  }
  throw new InvalidArgument(argument, 'is not a cursor of this list')
}

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  description: 'Where a page begins and ends, and whether there is more.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', {
      description: 'Whether there is more after this page: of a backward page, whether `before` was given.',
    }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description: 'Whether there is something before this page: of a forward page, whether `after` was given.',
    }),
    startCursor: t.string({
      nullable: true,
      description:
        'Cursor of the first edge; null on an empty page. If the search for matching vaults ended before a backward page was full, the cursor of its end, also on an empty page.',
      resolve: (page) => (page.ends.start === undefined ? null : page.cursorOf(page.ends.start)),
    }),
    endCursor: t.string({
      nullable: true,
      description:
        'Cursor of the last edge: give it as `after` for the next page; null on an empty page. If the search for matching vaults ended before a forward page was full, the cursor of its end, also on an empty page.',
      resolve: (page) => (page.ends.end === undefined ? null : page.cursorOf(page.ends.end)),
    }),
  }),
})

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer SchemaTypes> ? SchemaTypes : never

/**
 * Creates the connection and edge types of a list.
 * @param what plural noun for the list's items
 */
export function connectionType<Node>(
  name: string,
  nodeType: ObjectRef<Types, Node>,
  what: string,
): ObjectRef<Types, Page<Node>> {
  const Edge = builder.objectRef<{ cursor: string; node: Node }>(`${name}Edge`).implement({
    description: `One of the ${what}, with its cursor.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', {
        description: 'Position of this edge: send it as `after` to continue after it.',
      }),
      node: t.field({ type: nodeType, description: 'The item at this place.', resolve: (edge) => edge.node as never }),
    }),
  })
  return builder.objectRef<Page<Node>>(`${name}Connection`).implement({
    description: `A page of ${what}. Pages go forward by \`first\` and \`after\`, those of vaults also backward by \`last\` and \`before\`.`,
    fields: (t) => ({
      edges: t.field({
        type: [Edge],
        description: `The page's ${what}, each with its cursor.`,
        resolve: (page) => page.nodes.map((node) => ({ cursor: page.cursorOf(node), node })),
      }),
      nodes: t.field({
        type: [nodeType],
        description: `The page's ${what}.`,
        resolve: (page) => page.nodes as never,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'Where the page ends, and whether there is more.',
        resolve: (page) => page,
      }),
      totalCount: t.int({
        description: `How many ${what} there are on all pages.`,
        resolve: (page) => page.totalCount(),
      }),
    }),
  })
}
