import type { TypedDocumentString } from './documents.generated.ts'
import type { Parameter } from './parameters.ts'
import type { Schema } from './schemas.ts'
import { word } from './words.ts'

/** What a path asks of the schema, and which part of that is its body. */
export interface RequestedOperation {
  readonly document: { toString(): string }
  /** The keys on the way to the body. */
  readonly path: readonly string[]
  /** How the body has the values of enums, by their names. */
  readonly wordOf: (name: string) => string
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

/** A path of the interface: the document it runs, what its parameters are, and what of the answer is the body. */
export interface Route {
  /** Segments with a colon are parameters, and give the variable of their name. */
  readonly path: string
  readonly about: About
  readonly parameters: Readonly<Record<string, Parameter>>
  /** There is no body where the vault isn't known. */
  readonly wanted: RequestedOperation
  /** The cursor of what follows, where there may be more: by all that was answered but the body. */
  readonly next?: (data: never) => string | null | undefined
}

/** The ways into data: the keys of objects, as far as they lead to no list. */
type WayIn<Data> = Data extends readonly unknown[]
  ? readonly []
  : Data extends object
    ? | readonly []
      | { [Key in keyof Data & string]: readonly [Key, ...WayIn<NonNullable<Data[Key]>>] }[keyof Data & string]
    : readonly []

export function route<Data>(
  path: string,
  document: TypedDocumentString<Data, never>,
  about: About,
  parameters: Readonly<Record<string, Parameter>>,
  body: WayIn<Data>,
  next?: (data: Data) => string | null | undefined,
): Route {
  const wanted = { document, path: body as readonly string[], wordOf: word }
  return { path, about, parameters, wanted, ...(next && { next }) }
}
