import { EventType } from './documents.generated.ts'
import * as schemas from './schemas.ts'
import { wordsOf } from './words.ts'

/** A parameter whose text can't be what it should be. */
export class BadParameter extends Error {
  constructor(
    readonly parameter: string,
    flaw: string,
  ) {
    super(`${parameter} ${flaw}`)
    this.name = 'BadParameter'
  }
}

/** A query parameter: which variable of the document it gives, what the contract says of it, and how it is read. */
export interface Parameter {
  readonly variable: string
  readonly schema: schemas.Schema
  readonly read: (text: string, parameter: string) => unknown
}

export function timeParameter(variable: string, description: string, example: number): Parameter {
  return integer(variable, schemas.timeSchema(description, example))
}

/** How many of something: the schema's own bounds, told to those who read the contract. */
export function count(
  variable: string,
  description: string,
  { least, most, default: unlessGiven }: { readonly least: number; readonly most: number; readonly default: number },
): Parameter {
  const bounds = { minimum: least, maximum: most, default: unlessGiven }
  return integer(variable, { ...schemas.integer(description, unlessGiven), ...bounds })
}

/** The bounds are those of the GraphQL schema; it would say of what is far out of them only that it is no Int. */
function integer(variable: string, schema: schemas.Schema): Parameter {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
  return {
    variable,
    schema,
    read: (text, parameter) => {
      if (!/^-?\d+$/.test(text)) throw new BadParameter(parameter, `is ${quoted(text)}, not a whole number`)
      const value = Number(text)
      if (value >= minimum && value <= maximum) return value
      throw new BadParameter(parameter, `is ${text.slice(0, 80)}, not from ${minimum} to ${maximum}`)
    },
  }
}

export function cursor(variable: string, description: string, example: string): Parameter {
  return { variable, schema: { ...schemas.text(description, example), minLength: 1 }, read: (value) => value }
}

/** One event type, or several with commas. */
export function eventTypesParameter(variable: string, description: string): Parameter {
  const known = wordsOf(EventType)
  const { description: _, ...items } = schemas.oneOf('', EventType, 'deposit')
  return {
    variable,
    schema: { ...schemas.list(description, items), minItems: 1, examples: [['deposit', 'withdraw']] },
    read: (value, parameter) =>
      // Named again, a type adds nothing but work.
      [...new Set(value.split(','))].map((type) => {
        if (known.includes(type)) return type.toUpperCase()
        throw new BadParameter(parameter, `names ${quoted(type)}, which is none of ${known.join(', ')}`)
      }),
  }
}

/**
 * The variables that a query's parameters give; parameters that the path doesn't have are ignored.
 * @throws {BadParameter}
 */
export function readParameters(
  parameters: Readonly<Record<string, Parameter>>,
  query: URLSearchParams,
): Record<string, unknown> {
  const variables: Record<string, unknown> = {}
  for (const [name, { variable, read }] of Object.entries(parameters)) {
    const [value, ...more] = query.getAll(name)
    if (more.length > 0) throw new BadParameter(name, `is given ${more.length + 1} times`)
    if (value !== undefined) variables[variable] = read(value, name)
  }
  return variables
}

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 80))
}
