import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf, problemOf } from '../../support/problem.ts'
import { apply } from '../../support/world.ts'

const [firstKey, secondKey] = ['a-key-of-one-reader', 'a-key-of-another-reader']
const ofVault = ['snapshot', 'equity', 'events'].map((name) => `/vault/${vaultThatIs.earning}/${name}`)
const paths = [...ofVault, '/strategies', '/universe', '/universe/pairs']

let database: TestDatabase
let locked: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  locked = gatewayOn(database, { apiKeys: [firstKey, secondKey] })
})

beforeEach(() => {
  database.takeStatements()
})

function bearing(authorization: string): RequestInit {
  return { headers: { authorization } }
}

/** A query by GET, which needs no other header. */
const query = '/graphql?query={strategies{id}}'

describe('with API keys', () => {
  const refused: [string, RequestInit][] = [
    ['none', {}],
    ['an unknown one', bearing('Bearer a-key-of-nobody')],
    ['a part of one', bearing(`Bearer ${firstKey.slice(0, -1)}`)],
    ['one and more', bearing(`Bearer ${firstKey}x`)],
    ['one in other letters', bearing(`Bearer ${firstKey.toUpperCase()}`)],
    ['two at once', bearing(`Bearer ${firstKey} ${secondKey}`)],
    ['an empty one', bearing('Bearer ')],
    ['one without a scheme', bearing(firstKey)],
    ['one by another scheme', bearing(`Basic ${firstKey}`)],
  ]

  test.each(refused)('a request with %s is refused on every path', async (_, init) => {
    for (const path of [...paths, '/nowhere']) {
      const response = await locked.get(path, init)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      const problem = await problemOf(response, 401)
      expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:unauthenticated' })
    }
    expect(database.takeStatements()).toEqual([])
  })

  test.each(refused)('a query with %s is refused with a GraphQL error', async (_, init) => {
    const response = await locked.get(query, init)
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(response.headers.get('content-type')).toMatch(/^application\/graphql-response\+json/)
    expect(await errorOf(response)).toMatchObject({ extensions: { code: 'UNAUTHENTICATED' } })
    expect(database.takeStatements()).toEqual([])
  })

  test('a query by POST is refused, too', async () => {
    const response = await locked.post('{ strategies { id } }')
    expect(response.status).toBe(401)
    expect(await response.json()).not.toHaveProperty('data')
  })

  test('a refusal does not contain the API key that was sent', async () => {
    const response = await locked.get('/strategies', bearing('Bearer a-key-of-nobody'))
    expect(await response.text()).not.toContain('a-key-of-nobody')
  })

  test.each([
    ['one key', `Bearer ${firstKey}`],
    ['the other key', `Bearer ${secondKey}`],
    ['a key after a scheme in other letters', `bearer ${secondKey}`],
  ])('a request with %s is answered on every path', async (_, authorization) => {
    for (const path of [...paths, query]) {
      const response = await locked.get(path, bearing(authorization))
      expect([path, response.status]).toEqual([path, 200])
      expect(response.headers.get('www-authenticate')).toBeNull()
    }
  })

  test.each([...paths, '/graphql'])('a preflight of %s passes without a key, which it cannot carry', async (path) => {
    const preflight = await locked.get(path, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.test', 'access-control-request-headers': 'authorization' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
  })

  test.each(['/graphql', query])("GraphiQL's page opens without a key, and runs nothing: %s", async (path) => {
    const page = await locked.get(path, { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).not.toContain('seasoned')
    expect(database.takeStatements()).not.toContain('strategies')
  })

  test('a client that accepts HTML gets no data without a key', async () => {
    const headers = { accept: 'text/html' }
    expect((await locked.get('/strategies', { headers })).status).toBe(401)
    const posted = await locked.get('/graphql', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ strategies { id } }' }),
    })
    expect(posted.status).toBe(401)
  })

  test("GraphiQL's page ignores Min-Data-Version, and may not be framed", async () => {
    const page = await locked.get('/graphql', { headers: { accept: 'text/html', 'min-data-version': '1.1' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(database.takeStatements()).toEqual([])
  })

  test.each([
    ['a query', query],
    ['a subscription', `/graphql?query=${encodeURIComponent('subscription { strategies { id } }')}`],
  ])('what accepts HTML and events gets no data of %s without a key', async (_what, path) => {
    for (const accept of ['text/html, text/event-stream', 'text/html, Text/Event-Stream;q=0.1']) {
      const { status, headers } = await locked.get(path, { headers: { accept } })
      expect([status, headers.get('content-type')]).toEqual([401, expect.stringContaining('json')])
    }
  })

  test('a refusal can be read by a page of another origin', async () => {
    expect((await locked.get('/strategies')).headers.get('access-control-allow-origin')).toBe('*')
  })
})

test('without API keys, every path is open', async () => {
  const { get } = gatewayOn(database)
  for (const path of [...paths, query]) {
    expect([path, (await get(path)).status]).toEqual([path, 200])
    expect([path, (await get(path, bearing('Bearer whatever'))).status]).toEqual([path, 200])
  }
})
