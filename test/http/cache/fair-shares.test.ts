import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { apply } from '../../support/world.ts'

const paths = ['/universe', '/strategies', ...Object.values(vaultThatIs).map((vault) => `/vault/${vault}/snapshot`)]
/** Selects vaults in 13 KB, which take twice as much of the cache. */
const fields = Array.from({ length: 40 }, (_, index) => `address${index}: address`).join(' ')

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
})

test('a client that asks for more answers than the cache holds makes no answer of another client cold', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const cache = createResponseCache(100_000)
  cache.listening(true)
  const { app } = gatewayOn(database, { cache, trustedProxies: 1 })
  /** Returns the length of an answer, and whether it was from the cache. */
  const get = async (path: string, address: string): Promise<{ length: number; isHit: boolean }> => {
    const { hits } = cache.figures()
    const headers = { 'x-forwarded-for': address }
    const response = await app.fetch(new Request(`http://gateway.test${path}`, { headers }))
    expect(response.status).toBe(200)
    return { length: (await response.text()).length, isHit: cache.figures().hits > hits }
  }
  const other = '192.0.2.1'
  /** One of many networks of an IPv6 /48, which are one client. */
  const greedy = (index: number): string => `2001:db8:0:${index % 5}::1`

  // The greedy client is the first to ask for the answer that both use.
  await get('/universe', greedy(0))
  for (const path of paths) await get(path, other)
  let flooded = 0
  for (let index = 0; index < 20; index++) {
    const query = `{ vaults { nodes { ${fields} } } } # ${index}`
    flooded += (await get(`/graphql?query=${encodeURIComponent(query)}`, greedy(index))).length
  }
  expect(flooded).toBeGreaterThan(200_000)
  const isHit = []
  for (const path of paths) isHit.push((await get(path, other)).isHit)
  expect(isHit).toEqual(paths.map(() => true))
})
