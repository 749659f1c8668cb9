import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { sharedHeaders } from '../../src/http/middleware/cors.ts'
import { openapi } from '../../src/rest/openapi/document.ts'

/* Holds answers to /openapi.json: what it names is there, and nothing else is. */

interface Described {
  readonly headers: Readonly<Record<string, { readonly required: boolean; readonly schema: object }>>
  readonly content?: Readonly<Record<string, object>>
}
interface Operation {
  readonly responses: Readonly<Record<string, Described | { readonly $ref: string }>>
}

export const paths = openapi.paths as unknown as Readonly<Record<string, { readonly get: Operation }>>

const sharedAnswers = openapi.components.responses as Readonly<Record<string, unknown>>

/** Fields may be added one day, so that the document's schemas are open; today's answers have those it names. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([key, value]) => [key, closed(value)] as const)
  return { ...Object.fromEntries(entries), ...('properties' in node ? { additionalProperties: false } : {}) }
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
// The document is no schema, but holds them: its own keys are no keywords.
ajv.addVocabulary(Object.keys(openapi))
ajv.addSchema({ ...(closed(openapi) as object), $id: 'contract' })

function validator(...pointer: readonly string[]): ValidateFunction {
  const reference = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).map(encodeURIComponent)
  return ajv.getSchema(`contract#/${reference.join('/')}`) as ValidateFunction
}

/** The path of the document that a request asks; null where it asks none. */
export function templateOf(pathname: string): string | null {
  const matches = (template: string): boolean => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  return Object.keys(paths).find(matches) ?? null
}

/** Differences between an answer and the document's description of its path. */
export async function flawsOf({ method, url }: Request, response: Response): Promise<string[]> {
  const template = templateOf(new URL(url).pathname)
  if (template === null || method === 'OPTIONS') return []
  const status = String(response.status)
  const found = paths[template]?.get.responses[status]
  if (found === undefined) return [`${status} is none of the answers of ${template}`]
  const shared = '$ref' in found ? (found.$ref.split('/').at(-1) ?? '') : null
  const described = shared === null ? (found as Described) : (sharedAnswers[shared] as Described)
  const to = shared === null ? ['paths', template, 'get', 'responses', status] : ['components', 'responses', shared]
  return [...headerFlaws(response, described, to), ...(await bodyFlaws(response, described, to, method))]
}

function headerFlaws({ headers }: Response, described: Described, to: readonly string[]): string[] {
  const named = Object.entries(described.headers).flatMap(([name, { required }]) => {
    const value = headers.get(name)
    if (value === null) return required ? [`${name} is not there`] : []
    return errorsOf(validator(...to, 'headers', name, 'schema'), value, name)
  })
  // What pages of other origins may read is what matters to clients; the rest, and Date, is every server's.
  const readable = [...(sharedHeaders['access-control-expose-headers'] ?? '').split(', '), 'allow', 'www-authenticate']
  const known = Object.keys(described.headers).map((name) => name.toLowerCase())
  const unnamed = readable.filter((name) => name !== 'date' && headers.has(name) && !known.includes(name))
  return [...named, ...unnamed.map((name) => `${name} is not described`)]
}

async function bodyFlaws(
  response: Response,
  { content }: Described,
  to: readonly string[],
  method: string,
): Promise<string[]> {
  const body = await response.clone().text()
  if (content === undefined || method === 'HEAD') return body === '' ? [] : ['there is a body']
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (!(type in content)) return [`${type} is none of the types of the body`]
  const value: unknown = type.endsWith('json') ? JSON.parse(body) : body
  return errorsOf(validator(...to, 'content', type, 'schema'), value, 'the body')
}

function errorsOf(validate: ValidateFunction, value: unknown, what: string): string[] {
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [what, instancePath, message ?? '', JSON.stringify(params)].join(' '),
  )
}
