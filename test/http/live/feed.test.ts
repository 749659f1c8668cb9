import { afterEach, beforeEach, expect, test } from 'vitest'
import { demoFacts } from '../../../src/feed/demo/demo.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { asEvent, type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { apply, midnight } from '../../support/world.ts'

/* A feed is applied in steps while streams are open: each pushed text is that of the version in its event. */

const selection = `{ address status valueUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt strategy { name liveApr }
  positions { positionId inRange } suspension { reason } events(first: 3) { nodes { type ts } } equity(points: 5) { ts netUsd } }`
const steps = 12

let database: TestDatabase
let live: LiveGateway
/** A gateway without a response cache: it reads each response from the database. */
let uncached: TestGateway
const clients: LiveClient[] = []

beforeEach(async () => {
  database = await emptyDatabase()
  live = await liveGateway(database, { liveLimits: { pushMilliseconds: 0, pushFactor: 0 } })
  uncached = gatewayOn(database)
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await live.close()
})

test('each snapshot, result and row over a feed is that of its version, byte for byte', async () => {
  const facts = demoFacts(midnight)
  // Two vaults are followed from the beginning; the others are opened while the streams run.
  const openings = facts.flatMap((fact, at) => (fact.kind === 'vault' ? [{ at, vault: fact.vault }] : [])).slice(0, 2)
  const vaults = openings.map(({ vault }) => vault)
  const beginning = (openings.at(-1)?.at ?? 0) + 1
  const size = Math.ceil((facts.length - beginning) / steps)
  await apply(database, facts.slice(0, beginning))
  const open = async (path: string): Promise<LiveClient> => {
    const client = await openStream(live.server.origin, path, { headers: { accept: 'text/event-stream' } })
    clients.push(client)
    return client
  }
  const snapshots = await open(`/live/vaults?vault=${vaults.join()}`)
  const query = (vault: string, kind: string): string => `${kind} { vault(address: "${vault}") ${selection} }`
  const results = await Promise.all(
    vaults.map((vault) => open(`/graphql?${new URLSearchParams({ query: query(vault, 'subscription') }).toString()}`)),
  )
  const rows = await open('/live/events')
  const expected = new Map<string, string>()
  let rowsBefore = -1
  for (let from = beginning; from <= facts.length + size; from += size) {
    const version = await newestVersion()
    for (const vault of vaults) {
      expected.set(`${version} ${vault}`, await (await uncached.get(`/vault/${vault}/snapshot`)).text())
      expected.set(`${version} ${query(vault, '')}`, asEvent(await (await uncached.post(query(vault, 'query'))).text()))
    }
    if (rowsBefore < 0) rowsBefore = (await ledgers(vaults)).length
    await apply(database, facts.slice(from, from + size))
  }
  const all = await ledgers(vaults)
  const received = (await rows.until('event', all.length - rowsBefore)).flatMap(({ data }) => data ?? [])
  const ofVaults = received.filter((row) => vaults.some((vault) => row.toLowerCase().includes(vault.toLowerCase())))
  expect(ofVaults.sort()).toEqual(
    all
      .slice()
      .sort()
      .filter((row) => ofVaults.includes(row)),
  )
  expect(ofVaults).toHaveLength(all.length - rowsBefore)
  const pushed = await snapshots.until('snapshot', vaults.length + 6)
  for (const { id, data } of pushed) {
    const { vault } = JSON.parse(data ?? '') as { vault: string }
    expect(data).toBe(expected.get(`${id} ${vaults.find((each) => each.toLowerCase() === vault.toLowerCase())}`))
  }
  for (const [at, client] of results.entries()) {
    for (const { id, data } of await client.until('next', 2)) {
      expect(data).toBe(expected.get(`${id} ${query(vaults[at] ?? '', '')}`))
    }
  }
})

async function newestVersion(): Promise<string> {
  const [newest] = await database.query<{ version: string }>(
    { name: 'newest_version', text: 'select version from commit_log order by seq desc limit 1' },
    [],
  )
  return newest?.version ?? ''
}

/** Returns the rows of all vaults from their REST paths, each with its vault. */
async function ledgers(vaults: readonly string[]): Promise<string[]> {
  const texts = vaults.map(async (vault) => {
    const { vault: address } = JSON.parse(await (await uncached.get(`/vault/${vault}/snapshot`)).text()) as {
      vault: string
    }
    const text = await (await uncached.get(`/vault/${vault}/events?limit=1000`)).text()
    const rows = text === '[]' ? [] : text.slice(1, -1).split(/,(?=\{"txHash")/)
    return rows.map((row) => `{"vault":"${address}",${row.slice(1)}`)
  })
  return (await Promise.all(texts)).flat()
}
