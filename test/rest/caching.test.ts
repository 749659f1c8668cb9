import { beforeEach, describe, expect, test } from 'vitest'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { failing } from '../support/problem.ts'
import { apply, mark, midnight, opened, vaultA } from '../support/world.ts'

const vault = vaultThatIs.earning
const ofVaults = ['snapshot', 'equity', 'events']
const paths = [...ofVaults.map((name) => `/vault/${vault}/${name}`), '/strategies', '/universe', '/universe/pairs']
const strong = /^"[\x21\x23-\x7e]+"$/

let database: TestDatabase
let gateway: TestGateway

beforeEach(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
})

function etagOf(response: Response): string {
  const etag = response.headers.get('etag')
  if (etag === null) throw new Error('the answer has no ETag')
  return etag
}

function conditional(path: string, ifNoneMatch: string): Promise<Response> {
  return gateway.get(path, { headers: { 'if-none-match': ifNoneMatch } })
}

/** The parts of two equal responses that must be equal. */
function headersOf(response: Response): Record<string, string> {
  const differ = ['content-length', 'x-request-id']
  return Object.fromEntries([...response.headers].filter(([name]) => !differ.includes(name)))
}

describe('an answer', () => {
  test.each(paths)('has a strong ETag and must be revalidated: %s', async (path) => {
    const response = await gateway.get(path)
    expect(etagOf(response)).toMatch(strong)
    expect(response.headers.get('cache-control')).toBe('no-cache')
  })

  test.each([
    ['400', `/vault/${vault}/equity?points=1`, 'GET'],
    ['404, of a vault', `/vault/${vaultA}/snapshot`, 'GET'],
    ['404, of a path', '/nowhere', 'GET'],
    ['405', '/strategies', 'POST'],
  ])('that is a refusal has them too: %s', async (status, path, method) => {
    const response = await gateway.get(path, { method })
    expect(String(response.status)).toBe(status.slice(0, 3))
    expect(etagOf(response)).toMatch(strong)
    expect(response.headers.get('cache-control')).toBe('no-cache')
  })

  test.each([
    ['401', { apiKeys: ['a-key-of-this-test'] }],
    ['429', { rateLimit: { requests: 1, seconds: 60 } }],
    ['500', {}],
  ])('that is a refusal has them too: %s', async (status, options) => {
    const refusing = gatewayOn(status === '500' ? failing(database) : database, options)
    await refusing.get('/universe')
    const response = await refusing.get('/universe')
    expect(String(response.status)).toBe(status)
    expect(etagOf(response)).toMatch(strong)
    expect(response.headers.get('cache-control')).toBe('no-cache')
  })

  test('has the ETag of its content', async () => {
    const etags = await Promise.all(paths.map(async (path) => etagOf(await gateway.get(path))))
    expect(new Set(etags).size).toBe(paths.length)
    expect(await Promise.all(paths.map(async (path) => etagOf(await gateway.get(`${path}?ignored=1`))))).toEqual(etags)
  })

  test.each(paths)('is one in the response cache, whatever unknown parameters are sent: %s', async (path) => {
    const cache = createResponseCache(1024 * 1024)
    cache.listening(true)
    const cached = gatewayOn(database, { cache })
    const body = await (await cached.get(path)).text()
    database.takeStatements()
    expect(await (await cached.get(`${path}?utm=1`)).text()).toBe(body)
    expect(database.takeStatements()).toEqual([])
  })

  test('has another ETag after a change, and is sent in full', async () => {
    const snapshot = `/vault/${vault}/snapshot`
    const strategies = etagOf(await gateway.get('/strategies'))
    const before = etagOf(await gateway.get(snapshot))
    const newest = midnight + 40 * 86_400
    await apply(database, [mark(vault, newest, '1100')])
    const after = await conditional(snapshot, before)
    expect(after.status).toBe(200)
    expect(etagOf(after)).not.toBe(before)
    expect(await after.json()).toMatchObject({ valueUsd: 1100, updatedAt: newest })

    const copy = { tagline: '', description: '' }
    await apply(database, [{ kind: 'strategy', ts: newest, id: 'fresh', name: 'Another name', ...copy }])
    expect((await conditional('/strategies', strategies)).status).toBe(200)
  })

  test('keeps its ETag after changes of other data', async () => {
    const universe = etagOf(await gateway.get('/universe'))
    await apply(database, [opened(vaultA, 'fresh')])
    expect((await conditional('/universe', universe)).status).toBe(304)
  })
})

describe('If-None-Match', () => {
  test.each<[string, (etag: string) => string]>([
    ['the ETag', (etag) => etag],
    ['a list with it', (etag) => `"one", ${etag},"other"`],
    ['the ETag as a weak one', (etag) => `W/${etag}`],
    ['a list with it as a weak one', (etag) => `W/"one" , W/${etag}`],
    ['an asterisk', () => '*'],
  ])('of %s gives 304, without a body', async (_, written) => {
    for (const path of paths) {
      const whole = await gateway.get(path)
      const response = await conditional(path, written(etagOf(whole)))
      expect([response.status, await response.text()]).toEqual([304, ''])
      expect(response.headers.get('content-type')).toBeNull()
      const kept = Object.entries(headersOf(whole)).filter(([name]) => name !== 'content-type')
      expect(headersOf(response)).toEqual(Object.fromEntries(kept))
    }
  })

  test.each<[string, (etag: string) => string]>([
    ['another ETag', () => '"another"'],
    ['a list without it', () => '"one", W/"other"'],
    ['the ETag without quotes', (etag) => etag.slice(1, -1)],
    ['a part of it', (etag) => `${etag.slice(0, -2)}"`],
    ['nothing', () => ''],
  ])('of %s gives the answer', async (_, written) => {
    const whole = await gateway.get('/strategies')
    const response = await conditional('/strategies', written(etagOf(whole)))
    expect([response.status, await response.text()]).toEqual([200, await whole.text()])
  })

  test('of an asterisk does not hide a refusal', async () => {
    expect((await conditional(`/vault/${vaultA}/snapshot`, '*')).status).toBe(404)
    expect((await conditional(`/vault/${vault}/equity?points=1`, '*')).status).toBe(400)
  })
})

describe('HEAD', () => {
  test.each([
    ...paths,
    `/vault/${vault}/events?limit=1`,
    `/vault/${vaultA}/snapshot`,
    `/vault/${vault}/equity?since=x`,
    '/nowhere',
  ])("has GET's status and headers, and no body: %s", async (path) => {
    const whole = await gateway.get(path)
    const head = await gateway.get(path, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([whole.status, ''])
    expect(headersOf(head)).toEqual(headersOf(whole))
  })

  test('is conditional, too', async () => {
    const etag = etagOf(await gateway.get('/universe'))
    const head = await gateway.get('/universe', { method: 'HEAD', headers: { 'if-none-match': etag } })
    expect(head.status).toBe(304)
  })
})

describe('a page of another origin', () => {
  test.each([...paths, '/nowhere', `/vault/${vaultA}/snapshot`, '/graphql?query={__typename}'])(
    'may read %s and the headers that matter',
    async (path) => {
      const { headers } = await gateway.get(path, { headers: { origin: 'https://elsewhere.test' } })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      const exposed = headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toEqual(expect.arrayContaining(['etag', 'link', 'ratelimit', 'ratelimit-policy', 'retry-after']))
    },
  )

  test.each([
    ...paths.map((path) => [path, 'GET', 'GET, HEAD, OPTIONS'] as const),
    ['/graphql', 'POST', 'GET, POST, OPTIONS'] as const,
  ])('gets the permitted headers from a preflight of %s', async (path, method, allow) => {
    const preflight = await gateway.get(path, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.test', 'access-control-request-method': method },
    })
    expect([preflight.status, await preflight.text()]).toEqual([204, ''])
    expect(preflight.headers.get('allow')).toBe(allow)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-methods')?.split(', ')).toContain(method)
    const sendable = preflight.headers.get('access-control-allow-headers')?.split(', ')
    expect(sendable).toEqual(expect.arrayContaining(['authorization', 'content-type', 'if-none-match']))
  })
})
