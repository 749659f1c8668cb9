import type { TypedDocumentString } from './documents.generated.ts'
import type { Parameter } from './parameters.ts'
import type { Schema } from './schemas.ts'
import { word } from './words.ts'

/** The document of a route, and the part of its data that is the body. */
export interface RouteDocument {
  /** Its text. */
  readonly text: { toString(): string }
  /** Path of keys to the body. */
  readonly path: readonly string[]
  /** Converts the name of an enum value to its text in the body. */
  readonly enumTextOf: (name: string) => string
}

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

/** A path of the interface: its document, its parameters, and the part of its data that is the body. */
export interface Route {
  /** Segments with a colon are parameters, which set the variable of the same name. */
  readonly path: string
  readonly documentation: RouteDocumentation
  readonly parameters: Readonly<Record<string, Parameter>>
  /** The body is null if the vault does not exist. */
  readonly document: RouteDocument
  /** Returns the cursor of the next page from the envelope, the data around the body; null if there is none. */
  readonly next?: (data: never) => string | null | undefined
  readonly past?: Omit<PastRoute<never>, 'document'> & { readonly document: RouteDocument }
}

/** The variant of a route that serves moments in the past. */
export interface PastRoute<Data> {
  /** The parameter that requests it. */
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

/** A route as it is written in the table of routes; the types ensure that `body` is a path of the document's result. */
interface RouteDefinition<Data, PastData> extends Pick<Route, 'path' | 'documentation' | 'parameters'> {
  /** The document of the present. */
  readonly document: TypedDocumentString<Data, never>
  /** Path of keys to the body. */
  readonly body: ResultPath<Data>
  /** Returns the cursor of the next page. */
  readonly next?: (data: Data) => string | null | undefined
  /** Of a route that serves moments in the past. */
  readonly past?: PastRoute<PastData>
}

/** Creates a route. */
export function route<Data, PastData = Data>(definition: RouteDefinition<Data, PastData>): Route {
  const { path, documentation, parameters, document, body, next, past } = definition
  // An operation is compiled once for each of these objects.
  const documentOf = (text: RouteDocument['text']): RouteDocument => ({ text, path: body, enumTextOf: word })
  return {
    path,
    documentation,
    parameters,
    document: documentOf(document),
    ...(next && { next }),
    ...(past && { past: { ...past, document: documentOf(past.document) } }),
  }
}
