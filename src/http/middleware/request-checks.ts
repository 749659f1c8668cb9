import { isUtf8 } from 'node:buffer'
import { LRUCache } from 'lru-cache'
import { type HttpLimits } from '../../limits.ts'
import { bodyChunks } from '../../limits/connections.ts'
import { Problem } from '../../rest/problem.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'
import { graphqlPath } from '../graphql/path.ts'
import { contentCodingRefused } from '../graphql/refusals.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Middleware, PathStages } from '../middleware.ts'
import type { Unread } from '../server/request-body.ts'
import { overloaded, refuse } from '../refuse.ts'

/** Returns the stage that refuses requests whose target or headers exceed a limit, or whose Host is missing or invalid. */
export function requestChecks(limits: HttpLimits): Middleware {
  return (next) => (exchange) => {
    const refusal = requestRefusal(exchange.request, limits)
    return refusal === undefined ? next(exchange) : refuse(exchange.request, refusal)
  }
}

/**
 * Returns the stage that reads the body of requests to /graphql, up to its limit. A compressed body is refused unread, and so is
 * one that is not UTF-8, the encoding of JSON: its invalid bytes would be read as U+FFFD.
 */
export function requestBody(limits: HttpLimits): PathStages {
  const stage: Middleware = (next) => async (exchange) => {
    if (exchange.request.method === 'POST' && hasContentCoding(exchange.request))
      return new EncodedResponse(contentCodingRefused(exchange.request))
    const body = await exchange.readBody()
    if (typeof body === 'string') return refuse(exchange.request, bodyRefusal(body, limits))
    if (!isUtf8(body)) return refuse(exchange.request, new Problem('BAD_REQUEST', 'The body is not UTF-8.'))
    exchange.body = body
    return next(exchange)
  }
  return new Map([[graphqlPath, stage]])
}

/** Returns whether the body of a request has a content coding, as of compression: none is decoded. */
function hasContentCoding(request: IncomingRequest): boolean {
  const coding = request.header('content-encoding')?.trim().toLowerCase() ?? ''
  return coding !== '' && coding !== 'identity'
}

/** Returns the refusal of a request whose target or headers exceed a limit, or whose Host is missing or invalid. */
export function requestRefusal(request: IncomingRequest, limits: HttpLimits): Problem | undefined {
  const { target, rawHeaders, httpVersion, remoteAddress } = request
  const targetBytes = Buffer.byteLength(target)
  if (targetBytes > limits.targetBytes) {
    const detail = `Path and query have ${targetBytes} bytes, more than ${limits.targetBytes}.`
    return new Problem('TARGET_TOO_LONG', detail)
  }
  const headerCount = rawHeaders.length / 2
  if (headerCount > limits.headers) {
    return new Problem('HEADERS_TOO_LARGE', `There are ${headerCount} headers, more than ${limits.headers}.`)
  }
  // Violations of HTTP/1.1 that Node's parser accepts and a proxy may interpret differently.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return closing('This is not HTTP/1.1.')
  // RFC 9112, section 6.1: HTTP/1.0 has no Transfer-Encoding, and a proxy may not know another one than chunked.
  const transferEncoding = request.header('transfer-encoding')
  if (transferEncoding !== null && (httpVersion === '1.0' || transferEncoding.toLowerCase() !== 'chunked')) {
    return closing('The only transfer encoding is chunked, in HTTP/1.1.')
  }
  // RFC 9112, section 3.2: with two, a proxy and a server may use different hosts.
  let hostHeaders = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hostHeaders++
  }
  if (hostHeaders > 1) return closing('There is more than one header Host.')
  // A request of the Fetch API has no remote address, and its host is in its URL.
  if (hostHeaders === 0 && httpVersion === '1.1' && remoteAddress !== null) return closing('There is no header Host.')
  return isHost(request.header('host') ?? '') ? undefined : new Problem('BAD_REQUEST', 'The header Host names no host.')
}

/**
 * Refuses a request and closes the connection: a proxy in front may treat the following bytes as part of the same request
 * (request smuggling).
 */
function closing(detail: string): Problem {
  return new Problem('BAD_REQUEST', detail, { headers: { connection: 'close' } })
}

/** Maximum length of a DNS name and a port: encoding non-ASCII letters takes time quadratic in their number. */
const longestHost = 253 + ':65535'.length

/** Cache of validated Host headers: a gateway has few names. */
const checkedHosts = new LRUCache<string, boolean>({ max: 100 })

/** Returns whether a Host header is a name or an address, with or without a port; RFC 9112 allows an empty one. */
function isHost(host: string): boolean {
  const known = checkedHosts.get(host)
  if (known !== undefined) return known
  if (host.length > longestHost) return false
  const is = host === '' || (/^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`))
  checkedHosts.set(host, is)
  return is
}

function bodyRefusal(reason: Unread, { bodyBytes }: HttpLimits): Problem {
  if (reason === 'overloaded') return overloaded()
  if (reason === 'interrupted') return new Problem('BAD_REQUEST', 'The body did not come whole.')
  const detail =
    reason === 'too large'
      ? `The body has more than ${bodyBytes} bytes.`
      : `The body comes in more than ${bodyChunks} chunks: send larger ones.`
  return new Problem('BODY_TOO_LARGE', detail)
}
