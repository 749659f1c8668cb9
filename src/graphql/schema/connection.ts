import type { ObjectRef } from '@pothos/core'
import { mostCursorCharacters } from '../../limits.ts'
import { InvalidArgument } from '../../domain/errors.ts'
import { builder } from './builder.ts'

/**
 * A page of a list, as Relay's cursor connections have it.
 * @see https://relay.dev/graphql/connections.htm
 */
export interface Page<Node> {
  readonly nodes: readonly Node[]
  /** Where a node stands; asked for only where an answer has it. */
  cursorOf(node: Node): string
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  /** Counted only where it is asked for. */
  readonly totalCount: () => Promise<number>
}

interface PageSource<Node> {
  /** The page's rows, and one more where there is more. */
  readonly rows: readonly Node[]
  readonly first: number
  readonly after: string | null | undefined
  readonly cursorOf: (node: Node) => string
  readonly totalCount: () => Promise<number>
}

export function pageOf<Node>({ rows, first, after, cursorOf, totalCount }: PageSource<Node>): Page<Node> {
  return {
    nodes: rows.slice(0, first),
    cursorOf,
    hasNextPage: rows.length > first,
    hasPreviousPage: after != null,
    totalCount,
  }
}

/** A cursor is opaque to its users: what it holds may change. */
export function encodeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/**
 * Reads a cursor back.
 * @param isOurs whether its parts are those of this list
 * @throws {InvalidArgument} where they aren't
 */
export function decodeCursor<Parts extends unknown[]>(
  cursor: string,
  isOurs: (parts: unknown[]) => parts is Parts,
): Parts {
  try {
    const text = cursor.length > mostCursorCharacters ? 'null' : Buffer.from(cursor, 'base64url').toString('utf8')
    const parts: unknown = JSON.parse(text)
    if (Array.isArray(parts) && isOurs(parts)) return parts
  } catch {
    // What can't be read is refused below, like what isn't ours.
  }
  throw new InvalidArgument('after', 'is not a cursor of this list')
}

/** The cursor of a page's node by its place, counted from the end where it is negative; null where there is none. */
function cursorAt<Node>(page: Page<Node>, place: number): string | null {
  const node = page.nodes.at(place)
  return node === undefined ? null : page.cursorOf(node)
}

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  description: 'Where a page begins and ends, and whether there is more.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there is more after this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description: 'Whether the page was asked for after a cursor, so that there is something before it.',
    }),
    startCursor: t.string({
      nullable: true,
      description: 'Cursor of the first edge; null on an empty page.',
      resolve: (page) => cursorAt(page, 0),
    }),
    endCursor: t.string({
      nullable: true,
      description: 'Cursor of the last edge: give it as `after` for the next page. Null on an empty page.',
      resolve: (page) => cursorAt(page, -1),
    }),
  }),
})

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer SchemaTypes> ? SchemaTypes : never

/**
 * The connection and edge types of a list.
 * @param what the list's items in words, in the plural
 */
export function connectionType<Node>(
  name: string,
  nodeType: ObjectRef<Types, Node>,
  what: string,
): ObjectRef<Types, Page<Node>> {
  const Edge = builder.objectRef<{ cursor: string; node: Node }>(`${name}Edge`).implement({
    description: `One of the ${what}, with its cursor.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: 'Where this edge stands: give it as `after` for what follows.' }),
      node: t.field({ type: nodeType, description: 'What stands there.', resolve: (edge) => edge.node as never }),
    }),
  })
  return builder.objectRef<Page<Node>>(`${name}Connection`).implement({
    description: `A page of ${what}. Pages go forward only, by \`first\` and \`after\`, as Relay's specification of connections allows.`,
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
