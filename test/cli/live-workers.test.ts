import { describe, expect, test, vi } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { type LiveClient, openStream } from '../support/live.ts'
import { commandLine } from '../support/process.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../support/world.ts'

const homes = prepareHomes()
const { start } = commandLine()

const vault = addressOf(1)
const workers = 2
const perWorker = 20
const maxOpened = 1_000
const patience = { timeout: 50_000, interval: 50 }

describe.runIf(postgresUrl !== undefined)('streams of several workers', () => {
  test('have limits by worker, are served and resumed by any worker, and end when the gateway stops', async () => {
    const home = await homes.create()
    const database = await home.open()
    let now = midnight
    await apply(database, [strategy('one'), opened(vault, 'one', ++now), deposit(vault, ++now, '100')])
    const gateway = start(['serve'], { PORT: '0', DEMO: '0', WORKERS: String(workers), ...home.env })
    const [, port = ''] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    await gateway.says(/"Listening"[\s\S]*"Listening"/)
    const origin = `http://127.0.0.1:${port}`
    const clients: LiveClient[] = []
    const open = async (): Promise<LiveClient> => {
      const client = await openStream(origin, `/live/vaults?vault=${vault}`)
      clients.push(client)
      return client
    }
    const isOpen = ({ status }: LiveClient): boolean => status === 200
    // Any worker may accept a connection: one can be full before the other.
    while (clients.length < maxOpened && clients.filter(isOpen).length < workers * perWorker) await open()
    for (let count = 0; count < 6; count++) expect((await open()).status).toBe(429)
    const streams = clients.filter(isOpen)
    expect(streams).toHaveLength(workers * perWorker)

    await apply(database, [mark(vault, ++now, '321')])
    const isPushed = (client: LiveClient): boolean => client.lastData()?.includes('"valueUsd":321,') === true
    await vi.waitFor(() => expect(streams.every(isPushed)).toBe(true), patience)
    await vi.waitFor(async () => expect(await openStreams(origin)).toBe(streams.length), patience)
    for (const client of clients.splice(0)) client.close()
    await vi.waitFor(async () => expect(await openStreams(origin)).toBe(0), patience)

    const first = await openStream(origin, '/live/events')
    await vi.waitFor(() => expect(first.lastId()).not.toBeNull(), patience)
    const position = first.lastId() ?? ''
    await apply(
      database,
      [1, 2, 3].map(() => event(vault, ++now, { type: 'plant', positionId: 'p' })),
    )
    const pushed = (await first.until('event', 3)).map(({ id, data }) => [id, data])
    for (let resumed = 0; resumed < 2 * workers; resumed++) {
      const again = await openStream(origin, '/live/events', { headers: { 'last-event-id': position } })
      expect((await again.until('event', 3)).map(({ id, data }) => [id, data])).toEqual(pushed)
      clients.push(again)
    }

    gateway.kill('SIGTERM')
    await Promise.all([first, ...clients].map(({ ended }) => ended))
    expect(first.events.at(-1)?.retry).toMatch(/^\d{4}$/)
    expect((await gateway.ended).status).toBe(0)
    await database.close()
  }, 120_000)
})

async function openStreams(origin: string): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`, { headers: { connection: 'close' } })).text()
  const samples = parseMetrics(text).get('vault_gateway_live_streams')?.samples ?? []
  return samples.reduce((sum, { value }) => sum + value, 0)
}
