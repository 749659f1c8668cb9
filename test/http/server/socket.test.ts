import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply, vaultA } from '../../support/world.ts'

let database: TestDatabase
let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
  server = await serverOf(gateway.app)
})

afterAll(() => server.close())

/** Headers of a connection, or of one request only. */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'date',
  'transfer-encoding',
  'content-length',
  'x-request-id',
])

async function partsOf(response: Response): Promise<unknown> {
  const headers = [...response.headers].filter(([name]) => !ofConnection.has(name))
  const lowerCased = headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  return { status: response.status, headers: Object.fromEntries(lowerCased), body: await response.text() }
}

describe('over a socket', () => {
  test.each([
    ['GET', `/vault/${vaultThatIs.earning}/events?limit=1&type=deposit`],
    ['GET', `/vault/${vaultThatIs.earning}/equity?points=1`],
    ['GET', `/vault/${vaultA}/snapshot`],
    ['GET', '/vault/%zz/snapshot'],
    ['GET', '/nowhere?'],
    ['HEAD', '/strategies'],
    ['HEAD', '/nowhere'],
    ['POST', '/strategies'],
    ['OPTIONS', '/strategies'],
    ['OPTIONS', '/graphql'],
    ['GET', '/graphql?query={strategies{id,liveApr}}'],
    ['GET', '/graphql?query={nothing}'],
    ['PUT', '/graphql'],
  ])('%s %s is answered as by fetch', async (method, path) => {
    expect(await partsOf(await fetch(server.origin + path, { method }))).toEqual(
      await partsOf(await gateway.get(path, { method })),
    )
  })

  test('OPTIONS of the server as a whole names its methods, also to clients without a key; no other method has this target', async () => {
    const locked = await serverOf(gatewayOn(database, { apiKeys: ['the-only-key-of-this-test'] }).app)
    for (const { port } of [server, locked]) {
      const { send, receives, socket } = await rawConnection(port)
      send('OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n')
      const [head] = await receives(/[^]*\r\n\r\n/)
      expect(head).toMatch(
        /^HTTP\/1\.1 204 .*^allow: GET, HEAD, POST, OPTIONS\r$.*^access-control-allow-origin: \*\r$/ims,
      )
      expect(head).not.toMatch(/^content-length/im)
      socket.destroy()
    }
    const { send, receives, socket } = await rawConnection(server.port)
    send('GET * HTTP/1.1\r\nhost: a\r\n\r\n')
    await receives(/^HTTP\/1\.1 404 /)
    socket.destroy()
    await locked.close()
  })

  test('a response has the length of its body, also for HEAD', async () => {
    const whole = await fetch(`${server.origin}/universe`)
    const bytes = Buffer.byteLength(await whole.text())
    expect(whole.headers.get('content-length')).toBe(String(bytes))
    const head = await fetch(`${server.origin}/universe`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(bytes))
  })

  test('If-None-Match gives 304', async () => {
    const etag = (await fetch(`${server.origin}/universe`)).headers.get('etag') ?? ''
    const headers = { 'if-none-match': etag, 'cache-control': 'no-cache' }
    const response = await fetch(`${server.origin}/universe`, { headers })
    expect([response.status, await response.text()]).toEqual([304, ''])
  })
})
