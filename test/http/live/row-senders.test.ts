import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { addressOf, apply, deposit, event, midnight, opened, strategy } from '../../support/world.ts'

const vault = addressOf(1)
const [attacker, honest] = ['the-key-of-the-attacker', 'the-key-of-another-client']
/** More rows than a stream produces at once. */
const rows = 40
/** Few enough that no row of a client waits for admission. */
const fewRows = 4
/** Maximum number of streams of one client: their rows exceed the limit of waiting rows of one client. */
const streams = 20

let database: TestDatabase
let gateway: LiveGateway
let now = midnight
/** Series are read when its promise resolves; separate for each gateway, whose last reads may follow its closing. */
interface Gate {
  opened: Promise<void>
  open: () => void
}
let gate: Gate
const clients: LiveClient[] = []

beforeEach(async () => {
  database = await emptyDatabase()
  const own: Gate = { opened: Promise.resolve(), open: () => undefined }
  gate = own
  await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
  const heldDatabase = readingBy(database, async (statement, values, signal, reader) => {
    if (statement.name.includes('equity')) await own.opened
    return reader.read(statement, values, signal)
  })
  // Rows are held back for as long as the test takes.
  gateway = await liveGateway(heldDatabase, { apiKeys: [attacker, honest], liveLimits: { rowMilliseconds: 600_000 } })
})

afterEach(async () => {
  gate.open()
  for (const client of clients.splice(0)) client.close()
  await gateway.close()
})

/** Delays reads of series until they are released. */
function holdSeries(): void {
  gate.opened = new Promise<void>((resolve) => (gate.open = resolve))
}

async function harvest(count: number): Promise<void> {
  const one = { type: 'harvest', positionId: 'one', amountUsd: '1' } as const
  await apply(
    database,
    Array.from({ length: count }, () => event(vault, ++now, one)),
  )
}

async function newestVersion(): Promise<string> {
  const headers = { authorization: `Bearer ${honest}` }
  const response = await fetch(`${gateway.server.origin}/universe`, { headers })
  return response.headers.get('data-version') ?? ''
}

async function follow(key: string, selection: string, after?: string): Promise<LiveClient> {
  const position = after === undefined ? '' : `(after: "${after}")`
  const query = `subscription { ledger${position} { cursor ${selection} } }`
  const headers = {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
  }
  const sent = { method: 'POST', headers, body: JSON.stringify({ query }) }
  const client = await openStream(gateway.server.origin, '/graphql', sent)
  clients.push(client)
  return client
}

/** A series so long that the rows of one client take turns; streams of other aliases produce separate rows. */
const series = (alias: string): string =>
  `vault { ${alias}: equity(points: 400) { ts valueUsd netUsd capitalInUsd capitalOutUsd } }`

function hasSentStale({ events }: LiveClient): boolean {
  return events.some(({ comment }) => comment === 'stale')
}

test('the rows of one client, at the limit of waiting rows, cause no refusal of those of another', async () => {
  const attackers: LiveClient[] = []
  for (let at = 0; at < streams; at++) attackers.push(await follow(attacker, series(`series${at}`)))
  const other = await follow(honest, series('own'))
  // The rows of the next commit are in memory for all streams.
  await harvest(1)
  await Promise.all(clients.map((client) => client.until('next', 1)))
  holdSeries()
  await harvest(rows)
  await expect.poll(() => attackers.some(hasSentStale)).toBe(true)
  await wait(300)
  gate.open()
  await other.until('next', 1 + rows)
  expect(hasSentStale(other)).toBe(false)
})

test('old rows of one client with the maximum number of streams do not delay those of another', async () => {
  const before = await newestVersion()
  await harvest(fewRows)
  holdSeries()
  for (let at = 0; at < streams; at++) await follow(attacker, series(`old${at}`), before)
  await wait(300)
  const other = await follow(honest, 'event { ts }', before)
  expect(await other.until('next', fewRows)).toHaveLength(fewRows)
})
