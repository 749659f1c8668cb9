import { ApolloClient, ApolloLink, gql, InMemoryCache } from '@apollo/client'
import { Client, fetchExchange, subscriptionExchange } from '@urql/core'
import { print } from 'graphql'
import { createClient, type Client as SseClient } from 'graphql-sse'
import type { Browser } from 'playwright-core'
import { Observable } from 'rxjs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { noBrowser, openBrowser } from '../../support/browser.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { pageFolders } from '../../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../../support/live.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../../support/world.ts'

/* Subscriptions by common GraphQL clients, each with graphql-sse as its transport. */

const vault = addressOf(1)
const ofVault = `subscription ($vault: Address!) { vault(address: $vault) { address valueUsd } }`
const ofRows = `subscription { ledger { cursor event { ts } } }`

interface VaultData {
  readonly vault?: { readonly valueUsd: number }
}

let database: TestDatabase
let gateway: LiveGateway
let sse: SseClient
let browser: Browser | undefined
let folders: Awaited<ReturnType<typeof pageFolders>>
let now = midnight

beforeAll(async () => {
  folders = await pageFolders()
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
  if (noBrowser === null) browser = await openBrowser()
})
afterAll(() => browser?.close())

beforeEach(async () => {
  gateway = await liveGateway(database, { pageFolders: folders })
  sse = createClient({ url: `${gateway.server.origin}/graphql` })
})

afterEach(async () => {
  sse.dispose()
  await gateway.close()
})

/** Applies a mark with a unique value, and waits until the value was received. */
async function marked(received: () => readonly (number | undefined)[]): Promise<void> {
  await vi.waitFor(() => expect(received()).not.toHaveLength(0), 20_000)
  const valueUsd = ++now % 100_000
  await apply(database, [mark(vault, now, String(valueUsd))])
  await vi.waitFor(() => expect(received().at(-1)).toBe(valueUsd), 20_000)
}

test('urql subscribes to a vault, and reconnects after a restart of the gateway', async () => {
  const client = new Client({
    url: `${gateway.server.origin}/graphql`,
    preferGetMethod: false,
    exchanges: [
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: sse.subscribe({ query, variables: variables as Record<string, unknown> }, sink as never),
          }),
        }),
      }),
    ],
  })
  const values: (number | undefined)[] = []
  const { unsubscribe } = client.subscription<VaultData>(ofVault, { vault }).subscribe(({ data, error }) => {
    expect(error).toBeUndefined()
    values.push(data?.vault?.valueUsd)
  })
  await marked(() => values)
  const { port } = gateway.server
  await gateway.close()
  values.length = 0
  gateway = await liveGateway(database, {}, port)
  await marked(() => values)
  unsubscribe()
})

test('Apollo subscribes to a vault and to ledgers', async () => {
  const link = new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) => sse.subscribe({ query: print(query), variables }, observer as never)),
  )
  const client = new ApolloClient({ cache: new InMemoryCache(), link })
  const values: (number | undefined)[] = []
  const times: (number | undefined)[] = []
  const ofValues = client
    .subscribe<VaultData>({ query: gql(ofVault), variables: { vault } })
    .subscribe(({ data }) => values.push(data?.vault?.valueUsd))
  const ofTimes = client
    .subscribe<{ ledger: { event: { ts: number } } }>({ query: gql(ofRows) })
    .subscribe(({ data }) => times.push(data?.ledger.event.ts))
  await marked(() => values)
  await apply(database, [
    event(vault, ++now, { type: 'plant', positionId: 'p' }),
    event(vault, ++now, { type: 'plant', positionId: 'p' }),
  ])
  await vi.waitFor(() => expect(times).toEqual([now - 1, now]), 20_000)
  ofValues.unsubscribe()
  ofTimes.unsubscribe()
  client.stop()
})

test.skipIf(noBrowser !== null)(
  'GraphiQL runs a subscription, and shows what is pushed',
  async () => {
    const page = await (browser as Browser).newPage()
    const query = `subscription { vault(address: "${vault}") { valueUsd } }`
    await page.goto(`${gateway.server.origin}/graphql?query=${encodeURIComponent(query)}`)
    await page.locator('.graphiql-query-editor .view-line').first().waitFor()
    const shown = page.locator('.result-window .view-line', { hasText: '"valueUsd"' })
    for (let attempt = 0; attempt < 5 && (await shown.count()) === 0; attempt++) {
      await page.locator('.graphiql-execute-button').click()
      await shown.waitFor({ timeout: 5_000 }).catch(() => null)
    }
    const valueUsd = ++now % 100_000
    await apply(database, [mark(vault, now, String(valueUsd))])
    await page.locator('.result-window .view-line', { hasText: `"valueUsd": ${valueUsd}` }).waitFor()
    await page.close()
  },
  240_000,
)
