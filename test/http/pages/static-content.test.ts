import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { graphiqlContents } from '../../../src/http/graphql/graphiql.ts'
import { apiDocsContents } from '../../../src/http/ops/api-docs.ts'
import { servedOnce } from '../../../src/http/pages/static-content.ts'
import { fromFetch } from '../../../src/http/server/fetch-adapter.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { pageFolders } from '../../support/explorer.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { rawConnection, type RawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const megabyte = 1024 * 1024
const readers = 60
const html = { headers: { accept: 'text/html' } }

let database: TestDatabase
let server: TestServer
let folders: Awaited<ReturnType<typeof pageFolders>>

beforeAll(async () => {
  database = await emptyDatabase()
  folders = await pageFolders()
  server = await serverOf(gatewayOn(database, { pageFolders: folders }).app)
})
afterAll(() => server.close())

/** Returns the memory of this process outside of the heap, where the bytes of responses are. */
function bufferBytes(): number {
  const { external, arrayBuffers } = process.memoryUsage()
  return external + arrayBuffers
}

/** The page, and all that it loads from this server. */
async function pathsOfGraphiql(): Promise<string[]> {
  const page = await (await fetch(`${server.origin}/graphql`, html)).text()
  const loaded = Array.from(page.slice(0, 5_000).matchAll(/(?:src|href)="(graphql\/[^"]+)"/g), ([, path = '']) => path)
  return ['/graphql', ...loaded.map((path) => `/${path}`)]
}

describe('GraphiQL', () => {
  test('is not copied for a connection that does not read it', async () => {
    const paths = await pathsOfGraphiql()
    for (const path of paths) await (await fetch(server.origin + path, html)).arrayBuffer()
    const before = bufferBytes()
    const connections: RawConnection[] = []
    for (let count = 0; count < readers; count++) {
      const connection = await rawConnection(server.port)
      connection.socket.pause()
      const headers = `Host: x\r\nAccept: text/html\r\n\r\n`
      connection.send(paths.map((path) => `GET ${path} HTTP/1.1\r\n${headers}`).join(''))
      connections.push(connection)
    }
    const half = Math.floor(readers / 2)
    await expect.poll(() => server.running(), { timeout: 20_000 }).toBeGreaterThan(half)
    expect(bufferBytes() - before).toBeLessThan(60 * megabyte)
    for (const { socket } of connections) socket.destroy()
    await expect.poll(() => server.running()).toBe(0)
  })

  test('and the contract are counted against the rate limit, and need no key', async () => {
    const rateLimit = { requests: 2, seconds: 3_600 }
    for (const path of [...(await pathsOfGraphiql()), '/docs', '/openapi.json', '/docs/swagger-ui-bundle.js']) {
      const { get } = gatewayOn(database, { rateLimit, apiKeys: ['a-key-of-this-test'], pageFolders: folders })
      const statuses = []
      for (let attempt = 0; attempt < 3; attempt++) statuses.push((await get(path, html)).status)
      expect([path, ...statuses]).toEqual([path, 200, 200, 429])
    }
  })
})

test.each(['/graphql/graphiql.js', '/graphql/graphiql.css', '/docs', '/docs/swagger-ui-bundle.js', '/openapi.json'])(
  '%s is made once, and packed once',
  async (path) => {
    const handlers = servedOnce([...apiDocsContents, ...graphiqlContents(folders.graphiql)])
    const responseTo = async (method: string) =>
      handlers.get(path)?.(fromFetch(new Request(`http://x${path}`, { method })))
    const [first, second] = [await responseTo('GET'), await responseTo('GET')]
    expect(first).toBe(second)
    expect(await first?.compressed('gzip', 'sender')).toBe(await second?.compressed('gzip', 'sender'))
    expect(await responseTo('HEAD')).toBe(first)
    expect((await responseTo('POST'))?.status).toBe(405)
  },
)

describe('content negotiation', () => {
  const query = '/graphql?query={__typename}'
  const json = 'application/json; charset=utf-8'
  const response = 'application/graphql-response+json; charset=utf-8'

  test.each([
    ['text/html', 'text/html; charset=utf-8'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['TEXT/HTML;q=0.1', 'text/html; charset=utf-8'],
    ['text/html;q=0, application/json', json],
    ['text/html;q=0.0,*/*', json],
    ['application/json, text/html;q=0.5', json],
    ['application/json;q=0.5, application/graphql-response+json', response],
    ['application/json;q=0, application/graphql-response+json;q=0.1', response],
  ])('%s is answered %s', async (accept, type) => {
    const answer = await gatewayOn(database).get(query, { headers: { accept } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type])
  })

  test.each(['text/html;q=0', 'application/json;q=0', '*/*;q=0', 'application/json;q=2'])(
    '%s is no answer there is',
    async (accept) => {
      expect((await gatewayOn(database).get(query, { headers: { accept } })).status).toBe(406)
    },
  )
})
