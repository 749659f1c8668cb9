import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { sharedHeaders } from '../../src/http/middleware/cors.ts'
import { openapi } from '../../src/rest/openapi/document.ts'

/* Checks responses against /openapi.json: required parts are present, and nothing else is. */

/** The description of a response in the document. */
interface ResponseDescription {
  readonly headers: Readonly<Record<string, { readonly required: boolean; readonly schema: object }>>
  readonly content?: Readonly<Record<string, object>>
}
interface Operation {
  readonly responses: Readonly<Record<string, ResponseDescription | { readonly $ref: string }>>
}

export const paths = openapi.paths as unknown as Readonly<Record<string, { readonly get: Operation }>>

const sharedResponses = openapi.components.responses as Readonly<Record<string, unknown>>

/**
 * Returns a document whose schemas forbid additional properties. Those of /openapi.json permit them, so that fields can be
 * added later.
 */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([key, value]) => [key, closed(value)] as const)
  return { ...Object.fromEntries(entries), ...('properties' in node ? { additionalProperties: false } : {}) }
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
// The document is not a schema, but contains schemas: its own keys are not keywords of JSON Schema.
ajv.addVocabulary(Object.keys(openapi))
ajv.addSchema({ ...(closed(openapi) as object), $id: 'contract' })

/** Returns the validator of the schema at a JSON pointer. */
function validator(...pointer: readonly string[]): ValidateFunction {
  const reference = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).map(encodeURIComponent)
  return ajv.getSchema(`contract#/${reference.join('/')}`) as ValidateFunction
}

/** Returns the path template of the document that a path matches; null if there is none. */
export function pathTemplateOf(pathname: string): string | null {
  const matches = (template: string): boolean => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  return Object.keys(paths).find(matches) ?? null
}

/** Returns the differences between a response and its description in the document, as messages; none for other paths. */
export async function openapiViolations({ method, url }: Request, response: Response): Promise<string[]> {
  const template = pathTemplateOf(new URL(url).pathname)
  if (template === null || method === 'OPTIONS') return []
  const status = String(response.status)
  const found = paths[template]?.get.responses[status]
  if (found === undefined) return [`status ${status} is not described for ${template}`]
  const shared = '$ref' in found ? (found.$ref.split('/').at(-1) ?? '') : null
  const described = shared === null ? (found as ResponseDescription) : (sharedResponses[shared] as ResponseDescription)
  const pointer =
    shared === null ? ['paths', template, 'get', 'responses', status] : ['components', 'responses', shared]
  return [
    ...headerViolations(response, described, pointer),
    ...(await bodyViolations(response, described, pointer, method)),
  ]
}

function headerViolations({ headers }: Response, described: ResponseDescription, pointer: readonly string[]): string[] {
  const named = Object.entries(described.headers).flatMap(([name, { required }]) => {
    const value = headers.get(name)
    if (value === null) return required ? [`${name} is missing`] : []
    return errorsOf(validator(...pointer, 'headers', name, 'schema'), value, name)
  })
  // Only headers that CORS exposes to clients, without Date.
  const readable = [...(sharedHeaders['access-control-expose-headers'] ?? '').split(', '), 'allow', 'www-authenticate']
  const known = Object.keys(described.headers).map((name) => name.toLowerCase())
  const undescribed = readable.filter((name) => name !== 'date' && headers.has(name) && !known.includes(name))
  return [...named, ...undescribed.map((name) => `${name} is not described`)]
}

async function bodyViolations(
  response: Response,
  { content }: ResponseDescription,
  pointer: readonly string[],
  method: string,
): Promise<string[]> {
  const body = await response.clone().text()
  if (content === undefined || method === 'HEAD') return body === '' ? [] : ['the body is not empty']
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (!(type in content)) return [`the content type ${type} is not described`]
  const value: unknown = type.endsWith('json') ? JSON.parse(body) : body
  return errorsOf(validator(...pointer, 'content', type, 'schema'), value, 'the body')
}

function errorsOf(validate: ValidateFunction, value: unknown, name: string): string[] {
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [name, instancePath, message ?? '', JSON.stringify(params)].join(' '),
  )
}
