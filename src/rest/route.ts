import type { TypedDocumentString } from './documents.generated.ts'
import type { Parameter } from './parameters.ts'
import type { Schema } from './schemas.ts'

/** Any of the documents: its types matter to its route alone. */
export type Document = { toString(): string }

/** What a path answers: the body, and the cursor of what follows where there is more. */
export interface Shaped {
  readonly body: unknown
  readonly next?: string | null
}

/** The two groups of paths. */
export const tags = {
  vault: 'The live state and the past of a vault.',
  catalogue: 'The strategies, and the universe they choose from.',
} as const
export type Tag = keyof typeof tags

/** What the contract says of a path. */
export interface About {
  /** What generated clients call it. */
  readonly operation: string
  readonly tag: Tag
  readonly summary: string
  readonly description: string
  /** What the body is, or each thing in the list that it is. */
  readonly schema: Schema
  /** The schema's name. */
  readonly name: string
  readonly isList: boolean
}

/** A path of the interface: the document it runs, what its parameters are, and how the answer becomes the body. */
export interface Route {
  /** Segments with a colon are parameters, and give the variable of their name. */
  readonly path: string
  readonly document: Document
  readonly about: About
  readonly parameters: Readonly<Record<string, Parameter>>
  /** Null where the vault isn't known. */
  readonly shape: (data: never) => Shaped | null
}

export function route<Data>(
  path: string,
  document: TypedDocumentString<Data, never>,
  about: About,
  parameters: Readonly<Record<string, Parameter>>,
  shape: (data: Data) => Shaped | null,
): Route {
  return { path, document, about, parameters, shape }
}
