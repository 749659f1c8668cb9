import { EventType } from './documents.generated.ts'

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

/** A query parameter: which variable of the document it gives, and how its text is read. */
export interface Parameter {
  readonly variable: string
  readonly read: (text: string, parameter: string) => unknown
}

export function integer(variable: string): Parameter {
  return {
    variable,
    read: (text, parameter) => {
      const value = Number(text)
      if (/^-?\d+$/.test(text) && Number.isSafeInteger(value)) return value
      throw new BadParameter(parameter, `is ${quoted(text)}, not a whole number`)
    },
  }
}

export function text(variable: string): Parameter {
  return { variable, read: (value) => value }
}

/** One event type, or several with commas. */
export function eventTypes(variable: string): Parameter {
  const known: readonly string[] = Object.values(EventType).map((type) => type.toLowerCase())
  return {
    variable,
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

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 80))
}
