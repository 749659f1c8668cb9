import { STATUS_CODES } from 'node:http'
import { notAllowed } from '../../rest/handler.ts'
import { Problem, type ProblemCode, problemResponse } from '../../rest/problem.ts'
import type { TextResponse } from '../../rest/text-response.ts'
import { refuseUnknownMethod, type UnparsedBytes } from '../middleware/unknown-method.ts'

/** Problems by the code of Node's parse error. */
const unreadable: Readonly<Partial<Record<string, readonly [ProblemCode, string]>>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'Request line and headers have more bytes than are read.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['BODY_TOO_LARGE', 'The extensions of a chunk have more bytes than are read.'],
  HPE_INVALID_CHUNK_SIZE: ['BAD_REQUEST', 'The size of a chunk is not a hexadecimal number.'],
  HPE_INVALID_EOF_STATE: ['BAD_REQUEST', 'The connection ended before the request came whole.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The request did not come whole in time.'],
}

/** Returns the complete response to bytes that Node could not parse as a request. */
export function refusalOfBytes(error: NodeJS.ErrnoException & UnparsedBytes): string {
  const [code, detail] = unreadable[error.code ?? ''] ?? ['BAD_REQUEST', 'This is not HTTP/1.1.']
  const ofMethod = error.code === 'HPE_INVALID_METHOD' ? refuseUnknownMethod(error) : null
  return lastResponse(ofMethod ?? problemResponse(new Problem(code, detail)))
}

/** Returns the complete response to CONNECT, which asks for a tunnel to another server. */
export function refusalOfTunnel(): string {
  return lastResponse(problemResponse(notAllowed('CONNECT')))
}

/** Returns an answer as the bytes of the last response of a connection. */
function lastResponse({ status, headers, body }: TextResponse): string {
  const fields = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', body].join('\r\n')
}
