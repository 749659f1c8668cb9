import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { compress } from '../../../src/http/middleware/compression.ts'
import { maxConcurrentCompressions } from '../../../src/limits.ts'
import { EncodedResponse, negotiate, noOrigin } from '../../../src/http/cache/encoded-response.ts'
import { fromFetch } from '../../../src/http/server/fetch-adapter.ts'
import { emptyDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { apply, strategy } from '../../support/world.ts'

const many = Array.from({ length: 20 }, (_, index) => strategy(`strategy-${index}`))
const path = '/strategies'
const small = '/universe'

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, many)
  gateway = gatewayOn(database)
})

function ask(path: string, accepted: string, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.app.fetch(
    new Request(`http://gateway.test${path}`, { headers: { 'accept-encoding': accepted, ...headers } }),
  )
}

function unpack(encoding: string | null, bytes: ArrayBuffer): string {
  const packed = Buffer.from(bytes)
  if (encoding === 'br') return brotliDecompressSync(packed).toString()
  return (encoding === 'gzip' ? gunzipSync(packed) : packed).toString()
}

describe('an answer', () => {
  test.each([
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, *;q=0.5', 'gzip'],
    ['*, BR ; q=0.000', 'gzip'],
    ['*, gzip;q=0', 'br'],
    ['*, gzip;q=0, br;q=0', null],
    ['br;q=0.001, gzip;q=0', 'br'],
    ['deflate', null],
    ['identity', null],
    ['gzip;q=0.5, identity', null],
    ['*;q=0.1, identity;q=0.5', null],
    ['gzip, identity;q=0.5', 'gzip'],
    ['gzip;q=0', null],
    ['', null],
  ])('to a client that accepts "%s" is packed with %s', async (accepted, encoding) => {
    const whole = await (await gateway.get(path)).text()
    const response = await ask(path, accepted)
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.headers.get('vary')).toBe('accept-encoding')
    const bytes = await response.arrayBuffer()
    expect(response.headers.get('content-length')).toBe(String(bytes.byteLength))
    expect(unpack(encoding, bytes)).toBe(whole)
    if (encoding !== null) expect(bytes.byteLength).toBeLessThan(whole.length / 2)
  })

  test('is not compressed for a list of encodings that is long', async () => {
    const encodingOf = async (way: string): Promise<string | null> =>
      (await ask(path, way)).headers.get('content-encoding')
    expect([await encodingOf(`${'other,'.repeat(160)}br`), await encodingOf(`${'other,'.repeat(170)}br`)]).toEqual([
      'br',
      null,
    ])
  })

  test('that is small is sent as it is', async () => {
    const response = await ask(small, 'br')
    expect([response.headers.get('content-encoding'), await response.text()]).toEqual([null, '[]'])
  })

  test('over GraphQL is compressed, too', async () => {
    const path = `/graphql?query=${encodeURIComponent('{ strategies { id name tagline description } }')}`
    const response = await ask(path, 'gzip')
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const { data } = JSON.parse(unpack('gzip', await response.arrayBuffer())) as { data: { strategies: unknown[] } }
    expect(data.strategies).toHaveLength(many.length)
  })

  test('has an ETag for each encoding, and is sent again to a client whose ETags are of encodings that it does not accept', async () => {
    const etagFor = async (way: string): Promise<string> => String((await ask(path, way)).headers.get('etag'))
    const [br, gzip, identity] = [await etagFor('br'), await etagFor('gzip'), await etagFor('')]
    expect(new Set([br, gzip, identity]).size).toBe(3)
    const statuses = async (etag: string): Promise<unknown> =>
      Promise.all(
        ['br', 'gzip', ''].map(async (way) => {
          const response = await ask(path, way, { 'if-none-match': `"other", W/${etag}` })
          const { status, headers } = response
          return status === 304 ? [status, headers.get('etag'), await response.text()] : status
        }),
      )
    expect(await statuses(br)).toEqual([[304, br, ''], 200, 200])
    expect(await statuses(gzip)).toEqual([200, [304, gzip, ''], 200])
    // Any client may be sent the uncompressed bytes.
    expect(await statuses(identity)).toEqual(['br', 'gzip', ''].map(() => [304, identity, '']))
  })

  test('of which a client has several encodings is 304 with the ETag of the preferred one', async () => {
    const etags = await Promise.all(['', 'gzip', 'br'].map(async (way) => (await ask(path, way)).headers.get('etag')))
    const others = '"other",'.repeat(1_800)
    for (const held of [etags.join(), '*', `${others}${String(etags[1])}`, `${String(etags[1])},${others}`]) {
      const { status, headers } = await ask(path, 'gzip', { 'if-none-match': held })
      expect([status, headers.get('etag')]).toEqual([304, etags[1]])
    }
  })

  test('is sent again to a client whose ETag only ends like that of a compressed response', async () => {
    const answer = new EncodedResponse({ status: 200, headers: {}, body: '395151' })
    expect(answer.etagDigest).toMatch(/-br$/)
    for (const end of ['', '-br', '-gzip']) {
      const headers = { 'if-none-match': `"${answer.etagDigest ?? ''}${end}"` }
      const { status } = await negotiate(
        fromFetch(new Request('http://gateway.test/', { headers })),
        answer,
        [],
        'sender',
      )
      expect(status).toBe(end === '' ? 304 : 200)
    }
  })

  test('without a body has the headers of the one with it', async () => {
    const whole = await ask(path, 'br')
    const head = await gateway.app.fetch(
      new Request(`http://gateway.test${path}`, { method: 'HEAD', headers: { 'accept-encoding': 'br' } }),
    )
    for (const name of ['etag', 'content-encoding', 'content-length', 'vary']) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name))
    }
    expect(await head.text()).toBe('')
  })
})

test.each(['br', 'gzip'] as const)('bytes compressed by %s retain no larger buffer', async (encoding) => {
  const bytes = await compress(Buffer.from('{"a":1}'.repeat(300)), encoding, 'sender')
  expect(bytes?.buffer.byteLength).toBe(bytes?.length)
})

test('a failed compression is retried for the next client', async () => {
  const answer = new EncodedResponse({ status: 200, headers: {}, body: '{"a":1}'.repeat(300) }, noOrigin, {
    br: Promise.reject(new Error('Out of memory')),
  })
  await expect(answer.compressed('br', 'sender')).rejects.toThrow('Out of memory')
  expect(brotliDecompressSync((await answer.compressed('br', 'sender')) ?? '').toString()).toBe(answer.bytes.toString())
})

test('a limited number of responses of one client is compressed or waits for it, the others are sent uncompressed', async () => {
  // The sender of requests that have no address.
  const sender = 'unknown'
  const most = maxConcurrentCompressions / 2
  // Large enough to take longer than a request.
  const body = 'x'.repeat(5_000_000)
  const answers = Array.from({ length: most + 3 }, () => new EncodedResponse({ status: 200, headers: {}, body }))
  const packed = answers.map((answer) => answer.compressed('br', sender))
  expect(packed.map((each) => each !== null)).toEqual(answers.map((_, index) => index < most))
  const response = await ask(path, 'br')
  expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null])
  expect(response.headers.get('content-length')).toBe(String((await response.arrayBuffer()).byteLength))

  for (const each of packed) await each
  expect(await answers.at(-1)?.compressed('br', sender)).toEqual(await packed[0])
  expect((await ask(path, 'br')).headers.get('content-encoding')).toBe('br')
})

test('a response is compressed before those of another client that wait', async () => {
  const responseOf = (characters: number): EncodedResponse =>
    new EncodedResponse({ status: 200, headers: {}, body: 'x'.repeat(characters) })
  let compressed = 0
  const ofGreedy = Array.from({ length: maxConcurrentCompressions / 2 }, async () => {
    await responseOf(1_000_000).compressed('br', 'greedy')
    compressed++
  })
  expect(await responseOf(2_000).compressed('br', 'other')).not.toBeNull()
  expect(compressed).toBeLessThan(ofGreedy.length / 2)
  await Promise.all(ofGreedy)
})
