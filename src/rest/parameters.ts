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

export function time(variable: string, description: string, example: number): Parameter {
  return { variable, schema: schemas.time(description, example), read: readInteger }
}

/** How many of something: the schema's own bounds, told to those who read the contract. */
export function count(
  variable: string,
  description: string,
  { least, most, default: unlessGiven }: { readonly least: number; readonly most: number; readonly default: number },
): Parameter {
  const schema = { ...schemas.integer(description, unlessGiven), minimum: least, maximum: most, default: unlessGiven }
  return { variable, schema, read: readInteger }
}

export function cursor(variable: string, description: string, example: string): Parameter {
  return { variable, schema: { ...schemas.text(description, example), minLength: 1 }, read: (value) => value }
}

/** One event type, or several with commas. */
export function eventTypes(variable: string, description: string): Parameter {
  const known = wordsOf(EventType)
  const { description: _, ...items } = schemas.oneOf('', EventType, 'deposit')
  return {
    variable,
    schema: { ...schemas.list(description, items), minItems: 1, examples: [['deposit', 'withdraw']] },
    read: (value, parameter) =>
      value.split(',').map((type) => {
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

function readInteger(text: string, parameter: string): number {
  const value = Number(text)
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(value)) return value
  throw new BadParameter(parameter, `is ${quoted(text)}, not a whole number`)
}

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 80))
}
