import type { IncomingMessage } from 'node:http'
import type { Inbound } from './exchange.ts'

/** A request by fetch. */
export function fromFetch(request: Request): Inbound {
  const { pathname, search, searchParams } = new URL(request.url)
  return {
    method: request.method,
    target: pathname + search,
    path: pathname,
    query: searchParams,
    headerCount: [...request.headers].length,
    header: (name) => request.headers.get(name),
    headers: () => Object.fromEntries(request.headers),
    remoteAddress: null,
  }
}

/** A request by a socket. */
export function fromSocket(request: IncomingMessage): Inbound {
  const target = request.url ?? '/'
  const [path = '/', ...query] = target.split('?')
  return {
    method: request.method ?? 'GET',
    target,
    path,
    query: new URLSearchParams(query.join('?')),
    headerCount: request.rawHeaders.length / 2,
    header: (name) => request.headers[name]?.toString() ?? null,
    headers: () => Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    remoteAddress: request.socket.remoteAddress ?? null,
  }
}
