import type { IncomingMessage } from 'node:http'
import type { IncomingRequest } from '../incoming-request.ts'

/** Adapts a request of the Fetch API. */
export function fromFetch(request: Request): IncomingRequest {
  const { pathname, search, searchParams } = new URL(request.url)
  return {
    method: request.method,
    target: pathname + search,
    path: pathname,
    query: searchParams,
    headerCount: [...request.headers].length,
    flaw: null,
    header: (name) => request.headers.get(name),
    headers: () => Object.fromEntries(request.headers),
    remoteAddress: null,
  }
}

/** Adapts a request of node:http. */
export function fromSocket(request: IncomingMessage): IncomingRequest {
  return new SocketRequest(request)
}

/**
 * Returns path and query of a request target: the absolute form for proxies has a host before them, and servers must
 * accept it too (RFC 9112, section 3.2.2).
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const [, rest = target] = /^https?:\/\/[^/?#]+(.*)$/i.exec(target) ?? []
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}

function isHostName(name: string | undefined): boolean {
  return name?.length === 4 && name.toLowerCase() === 'host'
}

const noQuery = new URLSearchParams()

/** A request of node:http; rarely used properties are computed on access. */
class SocketRequest implements IncomingRequest {
  readonly method: string
  readonly target: string
  readonly path: string
  readonly #request: IncomingMessage
  #query: URLSearchParams | undefined

  constructor(request: IncomingMessage) {
    this.#request = request
    this.method = request.method ?? 'GET'
    this.target = originForm(request.url ?? '/')
    const end = this.target.indexOf('?')
    this.path = end < 0 ? this.target : this.target.slice(0, end)
    if (end < 0) this.#query = noQuery
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.target.slice(this.path.length + 1)))
  }

  get headerCount(): number {
    return this.#request.rawHeaders.length / 2
  }

  get flaw(): string | null {
    const { httpVersion, rawHeaders } = this.#request
    if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'This is not HTTP/1.1.'
    // RFC 9112, section 3.2: with two, a proxy and a server may use different hosts.
    let hosts = 0
    for (let place = 0; place < rawHeaders.length; place += 2) if (isHostName(rawHeaders[place])) hosts++
    return hosts > 1 ? 'There is more than one header Host.' : null
  }

  get remoteAddress(): string | null {
    return this.#request.socket.remoteAddress ?? null
  }

  header(name: string): string | null {
    return this.#request.headers[name]?.toString() ?? null
  }

  headers(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.#request.headers).map(([name, value]) => [name, String(value)]))
  }
}
