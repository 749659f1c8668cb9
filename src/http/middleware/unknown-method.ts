import { notAllowed } from '../../rest/handler.ts'
import { problem } from '../../rest/problem.ts'
import type { Answer } from '../../rest/problem.ts'
import { graphqlPath } from '../graphql/path.ts'
import { methodRefused } from '../graphql/refusals.ts'
import { originForm } from '../server/request-adapter.ts'
import { routeLabel } from '../route-label.ts'

/** What Node tells of bytes that it could not read. */
export interface Unread {
  /** As they came, with what was read before on the same connection. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** A request line as RFC 9112 has it, whatever the method. */
const requestLine = /^([!#$%&'*+.^`|~\w-]+) (\S+) HTTP\/1\.[01]\r?$/

/**
 * The refusal of a method that Node doesn't know, as of any other that the path doesn't allow.
 * @returns null where what came is no request
 */
export function refuseUnknownMethod({ rawPacket, bytesParsed = 0 }: Unread): Answer | null {
  const came = rawPacket?.toString('latin1') ?? ''
  const [line = ''] = came.slice(bytesParsed === 0 ? 0 : came.lastIndexOf('\n', bytesParsed - 1) + 1).split('\n', 1)
  const [, method, target] = requestLine.exec(line) ?? []
  if (method === undefined || target === undefined) return null
  const [path = ''] = originForm(target).split('?', 1)
  if (path === graphqlPath) return methodRefused(method)
  if (routeLabel(path) !== 'none') return notAllowed(method)
  return problem('PATH_NOT_FOUND', `${path} is none of the paths of this interface`)
}
