import { beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import type { App } from '../../src/http/app.ts'
import { emptyDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn } from '../support/gateway.ts'
import { apply, owner, vaultA } from '../support/world.ts'
import {
  EventType,
  type HeadlineFragment,
  HistoryDocument,
  type HistoryQuery,
  PortfolioDocument,
  type TypedDocumentString,
  VaultStatus,
} from './graphql-client.generated.ts'

interface Answer<Result> {
  readonly data?: Result
  readonly errors?: readonly { readonly message: string; readonly extensions: Record<string, unknown> }[]
}

let app: App

/** Sends an operation with the types that GraphQL Code Generator makes of schema.graphql and client.graphql. */
async function send<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): Promise<Answer<Result>> {
  const response = await app.fetch(
    new Request('http://gateway.test/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
      body: JSON.stringify({ query: document, variables }),
    }),
  )
  return (await response.json()) as Answer<Result>
}

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, everything)
  app = gatewayOn(database).app
})

describe('a client generated from schema.graphql', () => {
  test('reads vaults with their strategy, equity and positions', async () => {
    const { data } = await send(PortfolioDocument, { owner: [owner] })
    expect(data?.vaults.totalCount).toBe(Object.keys(vaultThatIs).length)
    const [first] = data?.vaults.nodes ?? []
    expectTypeOf(first).toExtend<HeadlineFragment | undefined>()
    expectTypeOf(first?.strategy.liveApr).toEqualTypeOf<number | null | undefined>()
    expect(first?.address).toBe(vaultThatIs.earning)
    expect(first?.status).toBe(VaultStatus.Earning)
    expect(first?.strategy).toEqual({ name: 'The seasoned', liveApr: expect.any(Number) as number })
    expect(first?.equity.map(({ changeUsd }) => changeUsd === null)).toEqual([true, false, false])
    expect(first?.positions[0]?.pool.feeTier).toBe(500)
  })

  test('overrides the default of a variable', async () => {
    const { data } = await send(PortfolioDocument, { owner: [owner], points: 2 })
    expect(data?.vaults.nodes[0]?.equity).toHaveLength(2)
  })

  test("reads a vault's events of some types, and of no unknown one", async () => {
    const variables = { address: vaultThatIs.suspended, type: [EventType.Deposit, EventType.Suspend] }
    const { data } = await send(HistoryDocument, variables)
    expectTypeOf(data).toEqualTypeOf<HistoryQuery | undefined>()
    expect(data?.vault?.events.nodes.map(({ type }) => type)).toEqual([EventType.Suspend, EventType.Deposit])
    expect(data?.vault?.suspension).toEqual({ reason: 'an oracle strays', exitsAvailable: true })
    // @ts-expect-error the ledger knows no sale
    const { errors } = await send(HistoryDocument, { address: vaultThatIs.suspended, type: ['SALE'] })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'type' })
  })

  test('gets null for an unknown vault', async () => {
    expect(await send(HistoryDocument, { address: vaultA })).toMatchObject({ data: { vault: null } })
  })
})
