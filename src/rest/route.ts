import type { FixedDocument } from '../graphql/execution/fixed-document.ts'
import type { TypedDocumentString } from './documents.generated.ts'
import type { Parameter } from './parameters.ts'
import type { ProblemCode } from './problem.ts'
import type { Schema } from './openapi/schemas.ts'
import { enumText } from './enum-text.ts'

/** Groups of paths. */
export const tags = {
  vault: 'The live state and the past of a vault.',
  catalogue: 'The strategies, and the universe they choose from.',
  live: 'Changes, pushed as server-sent events.',
} as const
/** Name of a group of paths. */
export type Tag = keyof typeof tags

/** Documentation of a route. */
export interface RouteDocumentation {
  /** Operation id, the method name in generated clients. */
  readonly operation: string
  readonly tag: Tag
  readonly summary: string
  readonly description: string
  /** Schema of the body, or of its items. */
  readonly schema: Schema
  /** Name of that schema. */
  readonly name: string
  readonly isList: boolean
  /** Whether the list is also available as CSV, with the properties of the schema as columns. */
  readonly isTable?: boolean
}

/** A path of the interface: its parameters, its document, and the part of the document's data that is the body. */
export interface Route {
  /** URL path, in which a segment with a colon is a parameter that sets the variable of the same name; at most one. */
  readonly path: string
  readonly documentation: RouteDocumentation
  readonly queryParameters: Readonly<Record<string, Parameter>>
  readonly document: FixedDocument
  /** The problem of a response without a body, such as that of an unknown vault; required if the body may be null. */
  readonly notFound?: NotFound
  /**
   * Returns the cursor of the next page from the envelope, the data around the body; null if there is none. The query
   * parameter `cursor` requests the page.
   */
  readonly next?: (data: never) => string | null | undefined
  readonly past?: Omit<PastRoute<never>, 'document'> & { readonly document: FixedDocument }
}

/** The problem that answers a request whose body is null. */
export interface NotFound {
  readonly code: ProblemCode
  /** Returns its detail, from the variables of the document. */
  readonly detail: (variables: Variables) => string
}

/** Variables of a route's document, by name. */
type Variables = Readonly<Record<string, unknown>>

/** The variant of a route that serves moments in the past. */
export interface PastRoute<Data> {
  /** The query parameter that requests it, and the variable that it sets. */
  readonly parameter: string
  readonly document: TypedDocumentString<Data, never>
  /** Returns whether the response can never change, by its envelope. */
  readonly isFinal: (data: Data) => boolean
}

/** Paths through the objects of a result, up to the first list. */
type ResultPath<Data> = Data extends readonly unknown[]
  ? readonly []
  : Data extends object
    ? | readonly []
      | { [Key in keyof Data & string]: readonly [Key, ...ResultPath<NonNullable<Data[Key]>>] }[keyof Data & string]
    : readonly []

/** Whether a path of a result leads to a value that may be null. */
type MayBeNull<Data, Path> = Path extends readonly [infer Key extends keyof Data, ...infer Rest]
  ? null extends Data[Key]
    ? true
    : MayBeNull<Data[Key], Rest>
  : false

/** A route as it stands in the table of routes; the types ensure that `bodyPath` is a path of the document's result. */
interface RouteDefinition<Data, BodyPath, PastData> extends Pick<
  Route,
  'path' | 'documentation' | 'queryParameters' | 'notFound'
> {
  /** The document of the present. */
  readonly document: TypedDocumentString<Data, never>
  /** Response keys of the path to the body. */
  readonly bodyPath: BodyPath
  /** Returns the cursor of the next page. */
  readonly next?: (data: Data) => string | null | undefined
  /** Of a route that serves moments in the past. */
  readonly past?: PastRoute<PastData>
}

/** Requires the problem of a null body, of a route whose body may be null. */
type NullBody<Data, BodyPath> = MayBeNull<Data, BodyPath> extends true ? Required<Pick<Route, 'notFound'>> : unknown

/**
 * Creates a route.
 * @throws {Error} if the handler does not support it
 */
export function route<Data, const BodyPath extends ResultPath<Data>, PastData = Data>(
  definition: RouteDefinition<Data, BodyPath, PastData> & NullBody<Data, BodyPath>,
): Route {
  const { path, documentation, queryParameters, document, bodyPath, notFound, next, past } = definition
  // An operation is compiled once for each of these objects.
  const documentOf = (text: FixedDocument['text']): FixedDocument => ({ text, bodyPath, enumTextOf: enumText })
  return supported({
    path,
    documentation,
    queryParameters,
    document: documentOf(document),
    ...(notFound && { notFound }),
    ...(next && { next }),
    ...(past && { past: { ...past, document: documentOf(past.document) } }),
  })
}

/** Returns the names of the parameters in a path. */
export function pathParameterNames(path: string): readonly string[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => name)
}

/** Returns a route that the handler supports; throws at the start of the process for any other. */
function supported(route: Route): Route {
  const { path, queryParameters, next, past } = route
  if (pathParameterNames(path).length > 1) throw new Error(`${path} has several path parameters: one is supported.`)
  if (next !== undefined && queryParameters['cursor'] === undefined)
    throw new Error(`${path} has next pages, and no query parameter cursor that requests them.`)
  if (past !== undefined && queryParameters[past.parameter]?.variable !== past.parameter)
    throw new Error(`${path} has no query parameter ${past.parameter} that sets the variable of this name.`)
  return route
}
