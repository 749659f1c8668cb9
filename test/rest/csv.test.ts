import { beforeAll, describe, expect, test } from 'vitest'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { csvOfList } from '../../src/rest/csv.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { problemOf } from '../support/problem.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../support/world.ts'

const vault = addressOf(1)
const csv = { headers: { accept: 'text/csv' } }
const reason = 'over 2 %, says "the oracle"'

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, [
    strategy('calm'),
    opened(vault, 'calm'),
    deposit(vault, midnight + 1, '12345678901234.123456'),
    mark(vault, midnight + 2, '12345678901234.654321'),
    event(vault, midnight + 3, { type: 'suspend', reason }),
  ])
  const versions = new DataVersions()
  versions.listening(true)
  gateway = gatewayOn(database, { cache: createResponseCache(1_000_000), versions })
})

test('the CSV of equity has a line for each point, with all digits', async () => {
  const response = await gateway.get(`/vault/${vault}/equity`, csv)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  expect((await response.text()).split('\r\n')).toEqual([
    'ts,valueUsd,capitalInUsd,capitalOutUsd',
    `${midnight + 1},12345678901234.123456,12345678901234.123456,0`,
    `${midnight + 2},12345678901234.654321,12345678901234.123456,0`,
    '',
  ])
})

test('the CSV of events has a line for each row, quoted if necessary, and a link to the next page', async () => {
  const response = await gateway.get(`/vault/${vault}/events?limit=1`, csv)
  const [names, row, ...others] = (await response.text()).split('\r\n')
  expect(names).toBe('txHash,logIndex,block,ts,type,amountUsd,positionId,reason')
  expect(row).toMatch(
    new RegExp(`^0x[0-9a-f]{64},\\d+,${midnight + 3},${midnight + 3},suspend,,,"over 2 %, says ""the oracle"""$`),
  )
  expect(others).toEqual([''])
  expect(response.headers.get('link')).toMatch(/events\?limit=1&cursor=.*rel="next"/)
})

describe('content negotiation', () => {
  test.each([
    ['text/csv', 'text/csv'],
    ['TEXT/CSV;q=0.9, application/json;q=0.5', 'text/csv'],
    ['text/csv, */*;q=0.1', 'text/csv'],
    ['text/csv, */*', 'text/csv'],
    ['text/csv, application/json', 'application/json'],
    ['text/csv;q=0.5, */*', 'application/json'],
    ['text/csv;q=0.5, application/*;q=0.6, */*;q=0.1', 'application/json'],
    ['text/csv;q=0.5, application/json;q=0.1, */*', 'text/csv'],
    ['text/csv;q=0', 'application/json'],
    ['*/*', 'application/json'],
    ['text/csvs', 'application/json'],
  ])('%s is answered as %s', async (accept, type) => {
    const response = await gateway.get(`/vault/${vault}/equity`, { headers: { accept } })
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
    expect(response.headers.get('vary')).toBe('accept, accept-encoding')
  })

  test('gives each media type a separate ETag, also from the cache', async () => {
    for (const path of ['equity', 'events']) {
      const requestAs = (accept: string, tag = '""'): Promise<Response> =>
        gateway.get(`/vault/${vault}/${path}`, { headers: { accept, 'if-none-match': tag } })
      for (let times = 0; times < 2; times++) {
        const tags = [await requestAs('text/csv'), await requestAs('application/json')].map(({ headers }) =>
          headers.get('etag'),
        )
        const [tag = ''] = tags
        expect(new Set(tags).size).toBe(2)
        expect((await requestAs('text/csv', tag ?? '')).status).toBe(304)
        expect((await requestAs('application/json', tag ?? '')).status).toBe(200)
      }
    }
  })

  test('returns JSON for the other paths, and for refusals', async () => {
    for (const path of [`/vault/${vault}/snapshot`, '/strategies', '/universe']) {
      const response = await gateway.get(path, csv)
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
    await problemOf(await gateway.get(`/vault/${vault}/equity?points=1`, csv), 400)
    await problemOf(await gateway.get(`/vault/${addressOf(2)}/events`, csv), 404)
  })
})

test('an empty list has only the header line', async () => expect(await csvOfList('[]', ['a', 'b'])).toBe('a,b\r\n'))

test('numbers in texts are unchanged', async () => {
  expect(await csvOfList('[{"a":"\\"b\\":1","c":1.50}]', ['a', 'c'])).toBe('a,c\r\n"""b"":1",1.50\r\n')
})
