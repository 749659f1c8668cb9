import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Commit } from '../../../src/database/commits/change-listener.ts'
import { createLedgerLog } from '../../../src/graphql/ledger-log.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { empty, emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { addressOf, apply, deposit, event, midnight, opened, strategy } from '../../support/world.ts'

const vaults = [addressOf(1), addressOf(2)] as const

let database: TestDatabase
let gateway: LiveGateway
let now: number
/** The commits that the gateway has not been notified of yet; null while it is notified of each at once. */
let withheld: Commit[] | null
let notify: (commit: Commit) => void
const clients: LiveClient[] = []

beforeEach(async () => {
  database = await emptyDatabase()
  withheld = null
  now = midnight
  await apply(database, [
    strategy('calm'),
    ...vaults.flatMap((vault) => [opened(vault, 'calm', ++now), deposit(vault, ++now, '100')]),
  ])
  gateway = await liveGateway(
    new Proxy(database, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (name !== 'listen') return typeof value === 'function' ? (value.bind(target) as unknown) : value
        const listen: TestDatabase['listen'] = (listener) => {
          notify = (commit) => listener.committed(commit)
          return target.listen({
            committed: (commit) => (withheld === null ? notify(commit) : void withheld.push(commit)),
            listening: (isListening) => listener.listening(isListening),
            upToDate: (sentAt) => listener.upToDate(sentAt),
          })
        }
        return listen
      },
    }),
  )
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await gateway.close()
})

async function follow(path: string): Promise<LiveClient> {
  const client = await openStream(gateway.server.origin, path)
  clients.push(client)
  return client
}

/** Writes a commit of a row of each vault. */
async function commit(): Promise<void> {
  await apply(
    database,
    vaults.map((vault) => event(vault, ++now, { type: 'harvest', amountUsd: '1.5', positionId: 'p' })),
  )
}

const ledgerOf = async (vault: string): Promise<unknown[]> =>
  JSON.parse(await (await gateway.get(`/vault/${vault}/events`)).text()) as unknown[]

/** Notifies the gateway of the withheld commits, after it has had time to send responses that it must not send. */
async function release(): Promise<void> {
  await wait(1_000)
  const commits = withheld ?? []
  withheld = null
  for (const each of commits) notify(each)
}

describe('the response to a request after an event', () => {
  test('is not older than the row of the event, though the response cache had an older response', async () => {
    const { version } = await createLedgerLog(database).end()
    for (const vault of vaults) expect(await ledgerOf(vault)).toHaveLength(1)
    withheld = []
    await commit()
    const opening = follow(`/live/events?after=${version ?? ''}`)
    const released = release()
    const client = await opening
    const [row] = await client.until('event', 1)
    for (const vault of vaults) expect(await ledgerOf(vault)).toHaveLength(2)
    expect(row?.data).toContain(vaults[0])
    await released
  })

  test('is not older than the id with which a stream of rows begins', async () => {
    for (const vault of vaults) expect(await ledgerOf(vault)).toHaveLength(1)
    withheld = []
    await commit()
    const opening = follow('/live/events')
    const released = release()
    const client = await opening
    await expect.poll(() => client.lastId()).toMatch(/^2\./)
    for (const vault of vaults) expect(await ledgerOf(vault)).toHaveLength(2)
    await released
  })

  test('is not older than the snapshot of the event', async () => {
    expect(await ledgerOf(vaults[0])).toHaveLength(1)
    withheld = []
    await commit()
    const opening = follow(`/live/vaults?vault=${vaults[0]}`)
    const released = release()
    const [snapshot] = await (await opening).until('snapshot', 1)
    expect(snapshot?.id).toMatch(/^2\./)
    expect(await ledgerOf(vaults[0])).toHaveLength(2)
    await released
  })

  test('does not delay the next push, however late the gateway is notified of the commit', async () => {
    const client = await follow(`/live/vaults?vault=${vaults[0]}`)
    await client.until('snapshot', 1)
    withheld = []
    await commit()
    await commit()
    await expect.poll(() => withheld).toHaveLength(2)
    const [first, second] = withheld as [Commit, Commit]
    notify(first)
    // The snapshot is of the second commit. A slow evaluation delays the next push by ten times its duration.
    await wait(1_000)
    notify(second)
    withheld = null
    await client.until('snapshot', 2)
    await commit()
    await Promise.race([client.until('snapshot', 3), wait(8_000)])
    expect(client.events.filter(({ event }) => event === 'snapshot')).toHaveLength(3)
  })

  test('is not delayed before the first commit', async () => {
    await empty(database)
    await gateway.close()
    gateway = await liveGateway(database)
    const waits = vi.spyOn(DataVersions.prototype, 'waitUntil')
    onTestFinished(() => waits.mockRestore())
    const opening = await Promise.all(Array.from({ length: 20 }, () => follow('/live/events')))
    expect(opening.map((client) => client.status)).toEqual(Array(20).fill(200))
    // Each wait ends immediately: there is still no commit.
    const areOver = waits.mock.calls.map(([isOver]) => isOver())
    expect(areOver.length).toBeGreaterThan(0)
    expect(areOver).not.toContain(false)
  })
})
