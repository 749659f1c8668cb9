import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { errorOf } from '../support/problem.ts'
import { rawConnection } from '../support/raw.ts'
import { serverOf, type TestServer } from '../support/server.ts'

let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  gateway = gatewayOn(await emptyDatabase())
  server = await serverOf(gateway.app)
})

afterAll(() => server.close())

async function answerTo(...lines: readonly string[]): Promise<string> {
  const connection = await rawConnection(server.port)
  connection.send([...lines, 'Connection: close', '', ''].join('\r\n'))
  return connection.closed
}

const query = '/graphql?query={__typename}'

describe('a Host', () => {
  test.each(['[::1', 'a b', 'a/b', 'a?b', 'a@b', 'a:b'])(
    'that is %s is a bad request, wherever it is sent',
    async (host) => {
      for (const target of [query, '/strategies']) {
        expect(await answerTo(`GET ${target} HTTP/1.1`, `Host: ${host}`)).toMatch(/^HTTP\/1\.1 400 .*no host/s)
      }
    },
  )

  test.each(['', 'localhost', '[::1]:4000', '127.0.0.1:80'])('that is "%s" is a good one', async (host) => {
    for (const target of [query, '/strategies']) {
      expect(await answerTo(`GET ${target} HTTP/1.1`, `Host: ${host}`)).toMatch(/^HTTP\/1\.1 200 /)
    }
  })
})

test.each(['PUT', 'DELETE', 'TRACE', 'PROPFIND'])('%s is a method of no path', async (method) => {
  for (const target of [query, '/strategies']) {
    expect(await answerTo(`${method} ${target} HTTP/1.1`, 'Host: x')).toMatch(/^HTTP\/1\.1 405 .*^allow: GET, /ims)
  }
})

test('an expectation that nobody knows is none', async () => {
  expect(await answerTo('GET /strategies HTTP/1.1', 'Host: x', 'Expect: the best')).toMatch(/^HTTP\/1\.1 200 .*\[\]$/s)
})

test('an upgrade is not made, and ends the connection', async () => {
  const connection = await rawConnection(server.port)
  connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 .*^connection: close\r$.*\[\]$/ims)
})

describe('a GraphQL request', () => {
  test.each(['variables', 'extensions'])('whose %s are not JSON is a bad one', async (name) => {
    const asked = [
      await gateway.get(`${query}&${name}={"a`),
      await gateway.get('/graphql', {
        method: 'POST',
        body: new URLSearchParams({ query: '{__typename}', [name]: '{"a' }),
      }),
    ]
    for (const response of asked) {
      expect(response.status).toBe(400)
      expect((await errorOf(response)).extensions).toMatchObject({ code: 'BAD_REQUEST' })
    }
    expect(gateway.reported).toEqual([])
  })

  test.each(['multipart/form-data', 'multipart/form-data; boundary=x'])('is none as %s', async (type) => {
    const response = await gateway.get('/graphql', { method: 'POST', body: '--x--', headers: { 'content-type': type } })
    expect(response.status).toBe(415)
    expect(gateway.reported).toEqual([])
  })
})
