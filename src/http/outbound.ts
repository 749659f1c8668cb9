import type { ServerResponse } from 'node:http'
import { tagged } from './caching.ts'
import { encodingFor, pack } from './compression.ts'
import type { Answer, Inbound } from './exchange.ts'

/** An answer as it leaves: its body in bytes, where it has one. */
export interface Outbound {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer<ArrayBuffer> | null
}

/** Tags and packs an answer for the client that asked. */
export async function outbound(request: Inbound, answer: Answer): Promise<Outbound> {
  const encoding = encodingFor(answer.body, request.header('accept-encoding'))
  const { status, headers, body } = tagged(answer, request.header('if-none-match'), encoding)
  if (status === 204 || status === 304) return { status, headers, bytes: null }
  if (encoding === null) return withLength(status, headers, Buffer.from(body))
  return withLength(status, { ...headers, 'content-encoding': encoding }, await pack(body, encoding))
}

function withLength(status: number, headers: Readonly<Record<string, string>>, bytes: Buffer): Outbound {
  const whole = { ...headers, 'content-length': String(bytes.length) }
  return { status, headers: whole, bytes: bytes as Buffer<ArrayBuffer> }
}

export function toResponse({ method }: Inbound, { status, headers, bytes }: Outbound): Response {
  return new Response(method === 'HEAD' ? null : bytes, { status, headers: { ...headers } })
}

export function write(response: ServerResponse, { method }: Inbound, { status, headers, bytes }: Outbound): void {
  response.writeHead(status, headers)
  response.end(method === 'HEAD' || bytes === null ? undefined : bytes)
}
