import { beforeAll, describe, expect, test } from 'vitest'
import { defaultQueryLimits, type QueryLimits } from '../../src/limits.ts'
import { toAddress } from '../../src/domain/address.ts'
import type { Versioned } from '../../src/database/database.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { errorOf, failing, problemOf } from '../support/problem.ts'
import { addressOf, apply, vaultA } from '../support/world.ts'

const vault = vaultThatIs.earning
const ofVaults = ['snapshot', 'equity', 'events']
const paths = [...ofVaults.map((name) => `/vault/${vault}/${name}`), '/strategies', '/universe', '/universe/pairs']
const hash = `0x${'0'.repeat(64)}`
const forged = (parts: unknown): string => Buffer.from(JSON.stringify(parts)).toString('base64url')

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
})

test("limits of clients' queries do not apply to the paths", async () => {
  const narrow = Object.fromEntries(Object.keys(defaultQueryLimits).map((name) => [name, 1])) as QueryLimits
  const { get } = gatewayOn(database, { queryLimits: { ...narrow, aliases: 0, directives: 0 } })
  const longest = [`/vault/${vault}/equity?points=2000`, `/vault/${vault}/events?limit=1000`]
  for (const path of [...paths, ...longest]) expect([path, (await get(path)).status]).toEqual([path, 200])
})

describe('a vault', () => {
  test.each(ofVaults)('that is unknown has no %s', async (name) => {
    const problem = await problemOf(await gateway.get(`/vault/${vaultA}/${name}`), 404)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:vault-not-found' })
    expect(problem.detail).toContain(vaultA)
  })

  test.each([
    ['too short', vaultA.slice(0, -1)],
    ['too long', `${vaultA}0`],
    ['without 0x', vaultA.slice(2)],
    ['no hex', `0x${'g'.repeat(40)}`],
    ['wrongly checksummed', '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['with a space', `${vaultA.slice(0, -1)}%20`],
    ['with a NUL', `${vaultA.slice(0, -1)}%00`],
    ['with a slash', `${vaultA.slice(0, -1)}%2F`],
    ['not UTF-8', '%E0%A4%A'],
    ['not percent-encoded', '%zz'],
  ])('at an address that is %s is a bad request', async (_, address) => {
    for (const name of ofVaults) {
      const problem = await problemOf(await gateway.get(`/vault/${address}/${name}`), 400)
      expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:bad-parameter', parameter: 'address' })
      expect(problem.detail).toContain('address')
    }
  })

  test.each([
    ['in capitals', `0x${'A1'.repeat(20)}`],
    ['checksummed', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['percent-encoded', vaultA.replace('0', '%30')],
  ])('at an address that is %s is a good request', async (_, address) => {
    await problemOf(await gateway.get(`/vault/${address}/snapshot`), 404)
  })
})

describe('a parameter', () => {
  const times = (name: string): [string, string][] => [
    [name, `${name}=-1`],
    [name, `${name}=1.5`],
    [name, `${name}=1e3`],
    [name, `${name}=soon`],
    [name, `${name}=`],
    [name, `${name}=253402300800`],
    [name, `${name}=99999999999999999999`],
    [name, `${name}=1&${name}=1`],
  ]
  const counts = (name: string, least: number, most: number): [string, string][] => [
    [name, `${name}=${String(least - 1)}`],
    [name, `${name}=${String(most + 1)}`],
    [name, `${name}=-5`],
    [name, `${name}=10.0`],
    [name, `${name}=ten`],
    [name, `${name}=`],
    [name, `${name}=0x10`],
    [name, `${name}=99999999999`],
    [name, `${name}=10&${name}=10`],
  ]
  const ordered: [string, string][] = [['since', 'since=1700000001&until=1700000000']]

  test.each([...times('since'), ...times('until'), ...counts('points', 2, 2_000), ...ordered])(
    'of equity, %s, is refused by name in ?%s',
    async (parameter, query) => {
      const problem = await problemOf(await gateway.get(`/vault/${vault}/equity?${query}`), 400)
      expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:bad-parameter', parameter })
    },
  )

  test.each([
    ...times('since'),
    ...times('until'),
    ...counts('limit', 1, 1_000),
    ...ordered,
    ['type', 'type=sale'],
    ['type', 'type='],
    ['type', 'type=deposit,'],
    ['type', 'type=deposit,sale'],
    ['type', 'type=DEPOSIT'],
    ['type', 'type=deposit&type=fee'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${forged([])}`],
    ['cursor', `cursor=${forged([1, 2])}`],
    ['cursor', `cursor=${forged([1.5, 2, hash, vault])}`],
    ['cursor', `cursor=${forged([1, 2 ** 31, hash, vault])}`],
    ['cursor', `cursor=${forged([1, 2, '\0', vault])}`],
    ['cursor', `cursor=${forged(null)}`],
    ['cursor', `cursor=${forged([1, 2, hash, toAddress(vaultA)])}`],
    ['cursor', `cursor=${forged([1, 2, hash, vault])}%FF`],
    ['cursor', `cursor=${forged([1, 2, hash, vault])}%`],
    ['cursor', `cursor=${forged([1, 2, hash, vault])}%EF%BF%BD`],
    ['since', 'since=%FF'],
    ['type', 'type=%C3%28'],
    ['cursor', `cursor=${forged([1, 2, hash, vault])}&cursor=abc`],
  ])('of events, %s, is refused by name in ?%s', async (parameter, query) => {
    const problem = await problemOf(await gateway.get(`/vault/${vault}/events?${query}`), 400)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:bad-parameter', parameter })
  })

  test.each([
    ['since=99999999999999999999', 'since is 99999999999999999999, not from 0 to 253402300799'],
    ['until=-1', 'until is -1, not from 0 to 253402300799'],
    ['limit=99999999999', 'limit is 99999999999, not from 1 to 1000'],
    ['limit=1001', 'limit is 1001, not from 1 to 1000'],
    ['limit=ten', 'limit is "ten", not a whole number'],
  ])('out of range gets an error with the range: ?%s', async (query, detail) => {
    const problem = await problemOf(await gateway.get(`/vault/${vault}/events?${query}`), 400)
    expect(problem).toMatchObject({ detail })
  })

  test.each([
    [`/vault/${vault}/events?limit=%FF`, 'limit is not percent-encoded UTF-8'],
    [`/vault/${vault}/events?type=fee,%c3%28`, 'type is not percent-encoded UTF-8'],
    [`/vault/${vault}/events?cursor=%ED%A0%80`, 'cursor is not percent-encoded UTF-8'],
    [`/vault/${vault}/snapshot?at=%ff`, 'at is not percent-encoded UTF-8'],
    [`/live/vaults?vault=%ff`, 'vault is not percent-encoded UTF-8'],
    [`/live/events?after=%ff`, 'after is not percent-encoded UTF-8'],
    [`/vault/${vault}/events?limit=%EF%BF%BD`, 'limit is "\uFFFD", not a whole number'],
  ])('that is not UTF-8 gets the same error as such a path: %s', async (path, detail) => {
    expect(await problemOf(await gateway.get(path), 400)).toMatchObject({ detail })
  })

  test.each([
    ['equity', 'points=2'],
    ['equity', 'points=2000'],
    ['equity', 'since=0&until=253402300799'],
    ['equity', 'since=5&until=5'],
    ['events', 'limit=1'],
    ['events', 'limit=1000'],
    ['events', 'type=deposit,withdraw,plant,rebalance,harvest,exit,fee,suspend,resume'],
    ['events', 'since=5&until=5'],
  ])('of %s at its bounds is taken: ?%s', async (name, query) => {
    expect((await gateway.get(`/vault/${vault}/${name}?${query}`)).status).toBe(200)
  })

  test.each(paths)('that %s does not have is ignored', async (path) => {
    const withoutParameter = await gateway.get(path)
    const more = await gateway.get(`${path}?a=1&a=2&address=${addressOf(9)}&first=x&after=x&category=x&key=%E0%A4%A`)
    expect(more.status).toBe(200)
    expect(await more.text()).toBe(await withoutParameter.text())
  })
})

describe('a path', () => {
  test.each([
    '/vault',
    `/vault/${vault}`,
    `/vault/${vault}/`,
    `/vault/${vault}/snapshot/`,
    `/vault/${vault}/snapshot/x`,
    '/vault//snapshot',
    '/strategies/one',
    '/Strategies',
    '/universe/pair',
    '/graphql/x',
    '/%00',
    '/constructor',
  ])('that is none of the interface is not found: %s', async (path) => {
    const problem = await problemOf(await gateway.get(path), 404)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:path-not-found' })
  })

  test.each(paths)('is read-only: %s', async (path) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await gateway.get(path, { method })
      expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      const problem = await problemOf(response, 405)
      expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:method-not-allowed' })
    }
  })
})

describe('a failing database', () => {
  test.each(paths)('is masked, and reported once: %s', async (path) => {
    const broken = gatewayOn(failing(database))
    const problem = await problemOf(await broken.get(path), 500)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:internal' })
    expect(broken.reported).toEqual([
      expect.objectContaining({ message: expect.stringContaining('hunter2') as unknown }),
    ])
  })

  test('is masked over GraphQL, and reported once though several fields fail', async () => {
    const broken = gatewayOn(failing(database))
    const several = `{ a: vault(address: "${vault}") { address } b: vault(address: "${vaultA}") { address } strategies { id } }`
    const response = await broken.post(several)
    expect(response.status).toBe(500)
    expect(await errorOf(response)).toMatchObject({ extensions: { code: 'INTERNAL_SERVER_ERROR' } })
    expect(broken.reported).toEqual([
      expect.objectContaining({ message: expect.stringContaining('hunter2') as unknown }),
    ])
  })

  test('is reported again when it fails again', async () => {
    const broken = gatewayOn(readingBy(database, () => Promise.reject(new Error('hunter2'))))
    await broken.get('/strategies')
    await broken.get('/strategies')
    expect(broken.reported).toHaveLength(2)
  })

  test("does not prevent GraphiQL's page, and is reported", async () => {
    const broken = gatewayOn(failing(database))
    const page = await broken.get('/graphql', { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).not.toContain('hunter2')
    expect(broken.reported).toHaveLength(1)
  })
})

test('a row that cannot be served is masked, and reported', async () => {
  const unfit = gatewayOn(
    readingBy(database, async (statement, values) => unfitted(await database.read(statement, values))),
  )
  await problemOf(await unfit.get(`/vault/${vault}/events`), 500)
  expect(
    await errorOf(await unfit.post(`{ vault(address: "${vault}") { events { nodes { logIndex } } } }`)),
  ).toMatchObject({
    message: expect.stringMatching(/^Something went wrong here\. It is logged with the request id \S+\.$/) as unknown,
    extensions: { code: 'INTERNAL_SERVER_ERROR' },
  })
  expect(unfit.reported).toHaveLength(2)
})

function unfitted({ rows, version }: Versioned<unknown>): Versioned<unknown> {
  return { rows: rows.map((row) => ({ ...(row as object), logIndex: 'hunter2' })), version }
}
