import { defaultHttpLimits } from '../../limits.ts'
import { notAllowed, pathNotFound } from '../../rest/handler.ts'
import { problemResponse } from '../../rest/problem.ts'
import type { TextResponse } from '../../rest/text-response.ts'
import { graphqlPath } from '../graphql/path.ts'
import { methodRefused } from '../graphql/refusals.ts'
import { originForm } from '../server/bounded-request.ts'
import { routeLabel } from './tracing.ts'

/** Properties of Node's parse error that describe the received bytes. */
export interface UnparsedBytes {
  /** Received bytes, including those parsed before on the same connection. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** Matches a request line (RFC 9112, section 3) with any method; control characters are in no target. */
const requestLine = /^([!#$%&'*+.^`|~\w-]+) ([!-~\x80-\xff]+) HTTP\/1\.[01]\r?$/

/** Maximum length of a method, in characters: the longest in IANA's registry has 16. */
const longestMethod = 32

/**
 * Returns the refusal of a method that Node does not know, the same as of any other method that the path does not
 * allow.
 * @returns null if the bytes are not a request, or one too long to repeat in its refusal
 */
export function refuseUnknownMethod({ rawPacket, bytesParsed = 0 }: UnparsedBytes): TextResponse | null {
  const came = rawPacket?.toString('latin1') ?? ''
  const [line = ''] = came.slice(bytesParsed === 0 ? 0 : came.lastIndexOf('\n', bytesParsed - 1) + 1).split('\n', 1)
  const [, method, target] = requestLine.exec(line) ?? []
  if (method === undefined || target === undefined) return null
  if (method.length > longestMethod || target.length > defaultHttpLimits.targetBytes) return null
  const [path = ''] = originForm(target).split('?', 1)
  if (path === graphqlPath) return methodRefused({ method, header: () => null })
  return problemResponse(routeLabel(path) === 'none' ? pathNotFound(path) : notAllowed(method))
}
