import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readFeeds } from '../../../src/database/read/model-metrics.ts'
import { vaultOrders } from '../../../src/database/read/vault-lists/order.ts'
import { toAddress } from '../../../src/domain/address.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { createDatabase, createInLanguage, postgresUrl, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { type Connection, connectionPages, pageInfo } from '../../support/pages.ts'
import { apply, event, feedOf, midnight, opened, strategy } from '../../support/world.ts'

const hexOf = (number: number, digits: number): string =>
  createHash('sha256').update(String(number)).digest('hex').slice(0, digits)

/** Includes two that Danish sorts after z, where aa is a separate letter. */
const beginnings = ['aa', 'Aa', 'b', 'B', '0aa', 'f', 'F', '9', 'a9', 'ab']
const addresses = beginnings.map((beginning, index) => {
  const digits = `${beginning}${hexOf(index, 40)}`.slice(0, 40)
  return toAddress(`0x${digits.toLowerCase()}`)
})
const [busy] = addresses as [string]
const hashes = beginnings.map((beginning, index) => `0x${beginning}${hexOf(index, 64)}`.slice(0, 66).toLowerCase())

/** Vaults without value, of one second, and a ledger whose rows have one block and log index. */
const facts: FactInput[] = [
  strategy('one'),
  ...addresses.map((address) => opened(address, 'one')),
  ...hashes.map((txHash) => {
    return { ...event(busy, midnight, { type: 'fee', amountUsd: '1' }), txHash, logIndex: 0, block: 1 } as FactInput
  }),
]

const byDigits = (a: string, b: string): number => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)

const vaultList = `query ($orderBy: VaultOrder!, $first: Int!, $after: String) {
  vaults(orderBy: $orderBy, first: $first, after: $after) { nodes { address } ${pageInfo} }
}`
const ledgerList = `query ($vault: Address!, $first: Int!, $after: String, $type: [EventType!]) {
  vault(address: $vault) { events(first: $first, after: $after, type: $type) { nodes { txHash } ${pageInfo} } }
}`

const engines: [string, () => Promise<TestDatabase>][] = [['the engine as it is', createDatabase]]
const server = postgresUrl
if (server !== undefined) engines.push(['one that sorts as Danes do', () => createInLanguage(server, 'da-DK')])

describe.each(engines)('on %s', (_engine, create) => {
  let database: TestDatabase
  let gateway: TestGateway

  beforeAll(async () => {
    database = await create()
    gateway = gatewayOn(database)
    expect(await apply(database, facts)).toMatchObject({ rejected: {} })
  })

  afterAll(() => database.close())

  test.each(Object.keys(vaultOrders).flatMap((field) => ['ASC', 'DESC'].map((direction) => [field, direction])))(
    'vaults that are equal by %s are in the order of their digits, %s',
    async (field, direction) => {
      const orderBy = { field, direction }
      const ascending = [...addresses].sort(byDigits)
      const wanted = direction === 'ASC' ? ascending : ascending.reverse()
      for (const first of [1, 3, 50]) {
        const pages = await connectionPages(async (after) => {
          const { vaults } = await gateway.query<{ vaults: Connection<{ address: string }> }>(vaultList, {
            orderBy,
            first,
            after,
          })
          return vaults
        })
        expect(pages.flatMap(({ nodes }) => nodes.map(({ address }) => address))).toEqual(wanted)
      }
    },
  )

  test.each([[null], [['FEE']]])(
    'rows of one block and log index are in the order of their hashes, for types %j',
    async (type) => {
      for (const first of [1, 3, 50]) {
        const pages = await connectionPages(async (after) => {
          const { vault } = await gateway.query<{ vault: { events: Connection<{ txHash: string }> } }>(ledgerList, {
            vault: busy,
            first,
            after,
            type,
          })
          return vault.events
        })
        const wanted = [...hashes].sort(byDigits).reverse()
        expect(pages.flatMap(({ nodes }) => nodes.map(({ txHash }) => txHash))).toEqual(wanted)
      }
    },
  )

  test('feeds are ordered by the bytes of their names', async () => {
    const names = ['/aa', '/z', '/B', '/a']
    for (const name of names) await ingest({ database, source: { ...feedOf([strategy('one')]), name } })
    const feeds = await readFeeds(database, AbortSignal.timeout(10_000))
    expect(feeds.map(({ name }) => name)).toEqual(['/B', '/a', '/aa', '/z', 'standard input'])
  })
})
