import { EventType } from './documents.generated.ts'
import * as schemas from './openapi/schemas.ts'
import { enumTexts } from './enum-text.ts'
import { Problem } from './problem.ts'

/** A query parameter with a value that is not valid. */
export class BadParameter extends Error {
  constructor(
    readonly parameter: string,
    problem: string,
  ) {
    super(`${parameter} ${problem}`)
    this.name = 'BadParameter'
  }

  toProblem(): Problem {
    return new Problem('BAD_PARAMETER', this.message, { parameter: this.parameter })
  }
}

/** Problem of a parameter in the path or the query. */
export const notUtf8 = 'is not percent-encoded UTF-8'

/** A query parameter: the variable that it sets, its schema, and its parser. */
export interface Parameter {
  readonly variable: string
  readonly schema: schemas.Schema
  readonly read: (text: string, parameter: string) => unknown
}

/** Creates a parameter for a time in Unix seconds. */
export function timeParameter(variable: string, description: string, example: number): Parameter {
  return integer(variable, schemas.timeSchema(description, example))
}

/** Creates a parameter for a number of items, with the limits of the GraphQL schema. */
export function count(
  variable: string,
  description: string,
  { min, max, default: defaultValue }: { readonly min: number; readonly max: number; readonly default: number },
): Parameter {
  const bounds = { minimum: min, maximum: max, default: defaultValue }
  return integer(variable, { ...schemas.integer(description, defaultValue), ...bounds })
}

/**
 * Creates a parameter for an integer. Its limits are checked here, because GraphQL reports values beyond 32 bits only
 * as not an Int.
 */
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

/** Creates a parameter for a cursor. */
export function cursor(variable: string, description: string, example: string): Parameter {
  return { variable, schema: { ...schemas.text(description, example), minLength: 1 }, read: (value) => value }
}

/** Creates a parameter for one event type, or several separated by commas. */
export function eventTypesParameter(variable: string, description: string): Parameter {
  const known = enumTexts(EventType)
  const { description: _, ...items } = schemas.oneOf('', EventType, 'deposit')
  return {
    variable,
    schema: { ...schemas.list(description, items), minItems: 1, examples: [['deposit', 'withdraw']] },
    read: (value, parameter) =>
      // Duplicates would only add work.
      [...new Set(value.split(','))].map((type) => {
        if (known.includes(type)) return type.toUpperCase()
        throw new BadParameter(parameter, `names ${quoted(type)}, which is none of ${known.join(', ')}`)
      }),
  }
}

/** Creates a parameter for the addresses of one or more vaults, separated by commas. */
export function addressesParameter(variable: string, description: string, max: number): Parameter {
  const { description: _, ...items } = schemas.address('', '0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A')
  const pattern = new RegExp(items.pattern ?? '')
  return {
    variable,
    schema: { ...schemas.list(description, items), minItems: 1, maxItems: max, examples: [items.examples] },
    read: (value, parameter) => {
      const addresses = [...new Set(value.split(','))]
      if (addresses.length > max)
        throw new BadParameter(parameter, `names ${addresses.length} vaults, more than ${max}`)
      const bad = addresses.find((address) => !pattern.test(address))
      if (bad !== undefined) throw new BadParameter(parameter, `names ${quoted(bad)}, which is no address`)
      return addresses
    },
  }
}

/** The query parameters of a request. */
export interface SentParameters {
  /** As they are decoded: bytes that are not UTF-8 are U+FFFD. */
  readonly query: URLSearchParams
  /** Path and query as sent by the client. */
  readonly target: string
}

/** The character by which bytes that are not UTF-8 are replaced. */
const replacement = '\uFFFD'
/** Its percent-encoding. */
export const encodedReplacement = /%EF%BF%BD/i

/**
 * Converts query parameters to variables. Unknown parameters are ignored.
 * @throws {BadParameter} when a value is not valid, not UTF-8 or given twice
 */
export function readParameters(
  parameters: Readonly<Record<string, Parameter>>,
  { query, target }: SentParameters,
): Record<string, unknown> {
  const variables: Record<string, unknown> = {}
  for (const [name, { variable, read }] of Object.entries(parameters)) {
    const [value, ...more] = query.getAll(name)
    if (more.length > 0) throw new BadParameter(name, `is given ${more.length + 1} times`)
    if (value === undefined) continue
    if (value.includes(replacement) && !encodedReplacement.test(target)) throw new BadParameter(name, notUtf8)
    variables[variable] = read(value, name)
  }
  return variables
}

/**
 * Returns a valid value of a parameter without leading zeros and repeated items, of which a client may send thousands: a
 * proxy takes a response with longer headers than its buffer, 4 KB in nginx, for a failure of the gateway, and leaves it.
 */
export function shortestText(value: string): string {
  const items = value.split(',').map((item) => item.replace(/^(-?)0+(?=\d)/, '$1'))
  return [...new Set(items)].join(',')
}

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 80))
}
