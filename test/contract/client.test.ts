import createClient, { type Client } from 'openapi-fetch'
import { beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn } from '../support/gateway.ts'
import { apply, vaultA } from '../support/world.ts'
import type { components, paths } from './client.generated.ts'

const path = { address: vaultThatIs.suspended }

/** A client with types generated from /openapi.json by openapi-typescript. */
let client: Client<paths, 'application/json' | 'application/problem+json'>

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, everything)
  client = createClient<paths, 'application/json' | 'application/problem+json'>({
    baseUrl: 'http://gateway.test',
    fetch: (request) => gatewayOn(database).app.fetch(request),
    // The document says so for the parameter `type`, but the client uses only the types of it.
    querySerializer: { array: { style: 'form', explode: false } },
  })
})

describe('a client generated from /openapi.json', () => {
  test("reads a vault's snapshot", async () => {
    const { data } = await client.GET('/vault/{address}/snapshot', { params: { path } })
    expectTypeOf(data).toEqualTypeOf<components['schemas']['Snapshot'] | undefined>()
    expectTypeOf(data?.positions[0]?.pool.feeTier).toEqualTypeOf<number | undefined>()
    expect(data?.status).toBe('suspended')
    expect(data?.suspension).toMatchObject({ reason: 'an oracle strays', exitsAvailable: true })
    expect(data?.positions[0]?.pool.feeTier).toBe(500)
  })

  test("reads a number of points of a vault's equity", async () => {
    const params = { path: { address: vaultThatIs.earning }, query: { points: 3 } }
    const { data = [] } = await client.GET('/vault/{address}/equity', { params })
    expect(data).toHaveLength(3)
    expect(data[0]?.valueUsd).toBe(1_000)
  })

  test("reads a vault's events of several types, and of no unknown one", async () => {
    const both = await client.GET('/vault/{address}/events', {
      params: { path, query: { type: ['deposit', 'suspend'] } },
    })
    expect(both.data?.map(({ type }) => type)).toEqual(['suspend', 'deposit'])
    // @ts-expect-error the ledger knows no sale
    const { error } = await client.GET('/vault/{address}/events', { params: { path, query: { type: ['sale'] } } })
    expect(error).toMatchObject({ status: 400, parameter: 'type' })
  })

  test('reads the catalogue', async () => {
    const [strategies, assets, pairs] = await Promise.all([
      client.GET('/strategies'),
      client.GET('/universe'),
      client.GET('/universe/pairs'),
    ])
    expect(strategies.data?.map(({ id, liveApr }) => [id, liveApr === null])).toEqual([
      ['seasoned', false],
      ['fresh', true],
    ])
    expect(assets.data?.map(({ category }) => category)).toContain('stock token')
    expect(pairs.data?.[0]).toMatchObject({ a: 'WETH', b: 'USDC', tvlUsd: 70.25, emissions: true })
  })

  test('gets errors as problems', async () => {
    const unknown = { params: { path: { address: vaultA } } }
    const { data, error, response } = await client.GET('/vault/{address}/snapshot', unknown)
    expectTypeOf(error).toEqualTypeOf<components['schemas']['Problem'] | undefined>()
    expect([data, response.status]).toEqual([undefined, 404])
    expect(error?.type).toBe('urn:vault-gateway:problem:vault-not-found')
  })
})
