import fc from 'fast-check'
import { anyText } from './arbitraries.ts'

/** Generates malformed and borderline HTTP requests, as Latin-1 text of their bytes. */
export function malformedHttp(target: string): fc.Arbitrary<string> {
  const line = `GET ${target} HTTP/1.1`
  const host = 'Host: x'
  const request = (...lines: readonly string[]): string => [...lines, '', ''].join('\r\n')
  const body = JSON.stringify({ query: '{ strategies { id } }' })
  const post = ['POST /graphql HTTP/1.1', host, 'Content-Type: application/json']
  return fc.oneof(
    anyText,
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    fc.string({ unit: 'binary', maxLength: 30 }).map((text) => request(`GET /${text} HTTP/1.1`, host)),
    fc.string({ unit: 'binary', maxLength: 30 }).map((text) => request(line, host, `X: ${text}`)),
    fc.string({ unit: 'binary', maxLength: 30 }).map((text) => request(line, host, `${text}: x`)),
    fc.string({ maxLength: 9 }).map((text) => request(`${text} ${target} HTTP/1.1`, host)),
    fc.string({ maxLength: 9 }).map((text) => request(`GET ${target} HTTP/${text}`, host)),
    fc.string({ maxLength: 9 }).map((text) => request(...post, `Content-Length: ${text}`) + body),
    fc.string({ maxLength: 9 }).map((text) => request(...post, `Transfer-Encoding: ${text}`) + body),
    fc.string({ maxLength: 20 }).map((text) => request(...post, 'Transfer-Encoding: chunked') + text),
    fc.nat({ max: 200 }).map((count) => request(line, host, ...Array.from({ length: count }, (_, at) => `X-${at}: x`))),
    fc.nat({ max: 30_000 }).map((count) => request(line, host, `X: ${'x'.repeat(count)}`)),
    fc.nat({ max: 30_000 }).map((count) => request(`GET /${'x'.repeat(count)} HTTP/1.1`, host)),
    fc.nat({ max: 9 }).map((count) => request(line, host).repeat(count)),
    fc.nat({ max: line.length }).map((count) => line.slice(0, count)),
    fc.constantFrom(
      request(line),
      request(line, host, host),
      request(line, host, 'Content-Length: 5', 'Content-Length: 6') + body,
      request(...post, `Content-Length: ${body.length}`, 'Transfer-Encoding: chunked') +
        `0\r\n\r\n${request(line, host)}`,
      request(...post, 'Content-Length: 99999999999999999999') + body,
      request(...post, 'Content-Length: -1') + body,
      request(...post, `Content-Length: ${body.length + 9}`) + body,
      request(...post, 'Transfer-Encoding: chunked') + `ffffffffffffffff\r\n${body}`,
      request(...post, 'Transfer-Encoding: chunked', 'Expect: 100-continue') + `5\r\n12345\r\n0\r\nTrailer: x\r\n\r\n`,
      request(line, host, ' folded: x'),
      `${line}\n${host}\n\n`,
      `GET ${target}\r\n\r\n`,
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      request('CONNECT x:443 HTTP/1.1', host),
      request('OPTIONS * HTTP/1.1', host),
      request(line, host, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: eA=='),
      '\u0016\u0003\u0001\u0000\u00f4\u0001\u0000',
      '\r\n\r\n\r\n',
      '\0',
    ),
  )
}
