import type { Browser } from 'playwright-core'
import { createClient } from 'graphql-sse'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { noBrowser, openBrowser } from '../../support/browser.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { liveGateway, type LiveGateway } from '../../support/live.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../../support/world.ts'

/* Common clients: EventSource in a browser, and graphql-sse. */

const vault = addressOf(1)

let database: TestDatabase
let gateway: LiveGateway
let browser: Browser | undefined
let now = midnight

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
  if (noBrowser === null) browser = await openBrowser()
})
afterAll(() => browser?.close())

beforeEach(async () => {
  gateway = await liveGateway(database)
})
afterEach(() => gateway.close())

const plant = () => event(vault, ++now, { type: 'plant', positionId: 'p' })

test.skipIf(noBrowser !== null)('EventSource in Chromium, of another origin, resumes behind the last row', async () => {
  const page = await (browser as Browser).newPage()
  const source = `window.rows = []; window.snapshots = []
    const events = new EventSource('${gateway.server.origin}/live/events')
    events.addEventListener('event', ({ data, lastEventId }) => window.rows.push([lastEventId, JSON.parse(data).ts]))
    const vaults = new EventSource('${gateway.server.origin}/live/vaults?vault=${vault}')
    vaults.addEventListener('snapshot', ({ data }) => window.snapshots.push(data))
    new Promise((resolve) => (events.onopen = resolve))`
  await page.evaluate(source)
  await apply(database, [plant()])
  await page.waitForFunction('window.rows.length === 1 && window.snapshots.length >= 1')
  // All streams end; rows are written before the browser reconnects.
  gateway.app.live.endAll()
  const { port } = gateway.server
  await gateway.close()
  await apply(database, [plant(), plant(), mark(vault, ++now, '321')])
  gateway = await liveGateway(database, {}, port)
  await page.waitForFunction('window.rows.length === 3 && /"valueUsd":321,/.test(window.snapshots.at(-1))')
  const rows = await page.evaluate<[string, number][]>('window.rows')
  expect(rows.map(([, ts]) => ts)).toEqual([now - 3, now - 2, now - 1])
  expect(await page.evaluate('window.snapshots.at(-1)')).toBe(
    await (await gateway.get(`/vault/${vault}/snapshot`)).text(),
  )
  await page.close()
})

test('graphql-sse: a query, a subscription to a vault, and one to ledgers that is resumed by its cursor', async () => {
  const client = createClient({ url: `${gateway.server.origin}/graphql`, retryAttempts: 0 })
  const first = async <Data>(query: string, after: () => Promise<unknown>): Promise<Data> => {
    const results = client.iterate<Data>({ query })
    const next = results.next()
    await after()
    const { value } = (await next) as { value: { data: Data } }
    await results.return?.()
    return value.data
  }
  const nothing = () => Promise.resolve()
  expect(await first('{ strategies { id } }', nothing)).toEqual({ strategies: [{ id: 'calm' }] })
  expect(await first(`subscription { vault(address: "${vault}") { address } }`, nothing)).toEqual({
    vault: { address: vault },
  })
  const version = (
    (await (await fetch(`${gateway.server.origin}/graphql?query={_meta{version}}`)).json()) as {
      data: { _meta: { version: string } }
    }
  ).data._meta.version
  await apply(database, [plant(), plant()])
  type Row = { readonly ledger: { readonly cursor: string; readonly event: { readonly ts: number } } }
  const rowAfter = (cursor: string) =>
    first<Row>(`subscription { ledger(after: "${cursor}") { cursor event { ts } } }`, nothing)
  const one = await rowAfter(version)
  expect(one.ledger.event.ts).toBe(now - 1)
  expect((await rowAfter(one.ledger.cursor)).ledger.event.ts).toBe(now)
  client.dispose()
})
