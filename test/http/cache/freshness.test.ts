import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ledgerRowGlobalId } from '../../../src/domain/identity/global-id.ts'
import type { Database } from '../../../src/database/database.ts'
import type { ChangeListener, CommitReports } from '../../../src/database/commits/change-listener.ts'
import { type ResponseCache, createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { emptyDatabase } from '../../support/database.ts'
import { everything, screen, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { addressOf, apply, deposit, mark, midnight, opened, position, strategy } from '../../support/world.ts'

/* The response cache on a database with commits: its responses equal those of a gateway without a cache. */

const first = midnight + 40 * 86_400
const written = [addressOf(11), addressOf(12)]
const nested = `{ vaults(first: 5, where: { strategy: "fresh" }) { totalCount nodes { address valueUsd strategy { name }
  equity(points: 5) { ts } events(first: 2) { nodes { ts } } } } }`
const rest = [
  ...written.flatMap((vault) => ['snapshot', 'equity?points=5', 'events'].map((name) => `/vault/${vault}/${name}`)),
  `/vault/${vaultThatIs.earning}/snapshot`,
  '/strategies',
  '/universe',
  '/universe/pairs',
]
const { txHash, logIndex } = deposit(written[0] ?? '', first + 1, '100') as { txHash: string; logIndex: number }
/** A strategy, a vault, a position that marks add and remove, and an existing row of the ledger. */
const byId = `{ nodes(ids: ["fresh", "${written[0] ?? ''}", "${written[0] ?? ''}/position/p", "${ledgerRowGlobalId(written[0] ?? '', txHash, logIndex)}"]) {
  id ... on Strategy { tagline } ... on Vault { valueUsd } ... on Position { pendingRewardsUsd } ... on LedgerRow { type } } }`
const paths = [...rest, ...[nested, byId].map((query) => `/graphql?query=${encodeURIComponent(query)}`)]

let database: Database
let cache: ResponseCache
let cached: TestGateway
let uncached: TestGateway
let stop: CommitReports['stop']
let isCut: (cut: boolean) => void
/** Resolves when the gateway has been notified of the next commit. */
let nextCommit: () => Promise<void>
let now = first

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  for (const vault of written) await apply(database, [opened(vault, 'fresh', now++), deposit(vault, now++, '100')])
  cache = createResponseCache(1024 * 1024)
  const watched = interruptible(cache)
  ;({ isCut, told: nextCommit } = watched)
  ;({ stop } = await database.listen(watched))
  cached = gatewayOn(database, { cache })
  uncached = gatewayOn(database)
  await vi.waitFor(() => expect(watched.isListening()).toBe(true), { timeout: 30_000 })
})
afterAll(() => stop())

/** Forwards commit notifications to a listener, unless the test has interrupted the channel. */
function interruptible(listener: Pick<ChangeListener, 'committed' | 'listening'>): ChangeListener & {
  isCut: (cut: boolean) => void
  isListening: () => boolean
  told: () => Promise<void>
} {
  const state = { cut: false, listening: false }
  let waiting: (() => void)[] = []
  return {
    committed(commit) {
      if (!state.cut) listener.committed(commit)
      for (const each of waiting) each()
      waiting = []
    },
    listening(isListening) {
      state.listening = isListening
      listener.listening(isListening)
    },
    upToDate: () => undefined,
    isCut(cut) {
      state.cut = cut
      listener.listening(!cut)
    },
    isListening: () => state.listening,
    told: () => new Promise((resolve) => void waiting.push(resolve)),
  }
}

async function bodyOf(gateway: TestGateway, path: string): Promise<string> {
  const response = await gateway.app.fetch(new Request(`http://gateway.test${path}`))
  expect(response.status).toBe(200)
  return response.text()
}

/** Commits a fact, and waits until the gateway has been notified of the commit. */
async function write(kind: 'mark' | 'screen' | 'strategy', index: number): Promise<void> {
  now += 60
  const pairs = screen.pairs.map((pair) => ({ ...pair, tvlUsd: String(now) }))
  const facts = {
    mark: mark(written[index % 2] ?? '', now, String(now), { positions: now % 120 < 60 ? [position('p')] : [] }),
    screen: { ...screen, ts: now, pairs },
    strategy: strategy('fresh', now),
  }
  const heard = nextCommit()
  await apply(database, [facts[kind]])
  await heard
}

test('each repeated request is served from the cache', async () => {
  for (const path of paths) await bodyOf(cached, path)
  const { hits } = cache.figures()
  for (const path of paths) await bodyOf(cached, path)
  expect(cache.figures().hits - hits).toBe(paths.length)
})

test('a commit invalidates the responses that it changes, and no others', async () => {
  for (const path of paths) await bodyOf(cached, path)
  const { hits } = cache.figures()
  await write('mark', 0)
  for (const path of paths) await bodyOf(cached, path)
  // Three paths of the vault, the list, and the objects by their ids.
  expect(cache.figures().hits - hits).toBe(paths.length - 5)
})

const kinds = fc.constantFrom('mark' as const, 'mark' as const, 'screen' as const, 'strategy' as const)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ ask: fc.nat(paths.length - 1) }) },
  { weight: 1, arbitrary: fc.record({ write: kinds, index: fc.nat(1) }) },
)

/** Runs the steps: requests run concurrently, and each commit is awaited until its notification. */
async function play(steps: readonly ({ ask: number } | { write: 'mark' | 'screen' | 'strategy'; index: number })[]) {
  const running: Promise<unknown>[] = []
  for (const each of steps) {
    if ('write' in each) await write(each.write, each.index)
    else running.push(bodyOf(cached, paths[each.ask] ?? ''))
  }
  // Requests that still run began after the notification of the last commit, or must not be cached.
  for (const path of paths) expect(await bodyOf(cached, path)).toBe(await bodyOf(uncached, path))
  await Promise.all(running)
  for (const path of paths) expect(await bodyOf(cached, path)).toBe(await bodyOf(uncached, path))
}

test('while facts are committed, no response is older than the newest notified commit', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 20 }), play), { numRuns: 25 })
})

test('while the notification channel is interrupted, nothing is served from the cache', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      for (const path of paths) await bodyOf(cached, path)
      isCut(true)
      await play(steps)
      isCut(false)
      await play([])
    }),
    { numRuns: 8 },
  )
})

test('a cached response to GET answers HEAD only where HEAD is allowed', async () => {
  const status = async (path: string, method: string): Promise<number> => (await cached.get(path, { method })).status
  const graphql = `/graphql?query=${encodeURIComponent('{ strategies { id } }')}`
  for (const [path, ofHead] of [
    [graphql, 405],
    ['/strategies', 200],
  ] as const) {
    expect(await status(path, 'GET')).toBe(200)
    const before = cache.figures().hits
    expect(await status(path, 'GET')).toBe(200)
    expect(cache.figures().hits).toBe(before + 1)
    expect(await status(path, 'HEAD')).toBe(ofHead)
  }
})
