import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { emptyDatabase, postgresUrl, type TestDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { blockingRejects } from '../support/blocking-rejects.ts'
import { apply, feedOf, midnight, strategy } from '../support/world.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('one'), strategy('two')])
})

interface Lists {
  readonly assets: readonly string[]
  readonly pairs: readonly string[]
}

const screenOf = (ts: number, { assets, pairs }: Lists): FactInput => ({
  kind: 'screen',
  ts,
  assets: assets.map((symbol) => ({ symbol, name: symbol, category: 'major', venues: ['v'], liquidityUsd: '1' })),
  pairs: pairs.map((a) => ({ a, b: 'USDC', venues: ['v'], tvlUsd: '1', emissions: false })),
  strategies: { one: pairs.map((a) => ({ a, b: 'USDC', venues: ['v'] })) },
})

/** Applies two screens of two feeds: the second begins while the first is about to commit. */
async function applyAtOnce(first: FactInput, second: FactInput): Promise<void> {
  const { rejects, isBlocked, release } = blockingRejects()
  const ofFirst = ingest({ database, source: { ...feedOf([first]), name: 'first' }, rejects })
  await Promise.race([isBlocked, ofFirst])
  const ofSecond = ingest({ database, source: { ...feedOf([second]), name: 'second' } })
  await wait(500)
  release()
  await Promise.all([ofFirst, ofSecond])
}

const [none, some]: [Lists, Lists] = [
  { assets: [], pairs: [] },
  { assets: ['A'], pairs: ['A'] },
]
const half: [Lists, Lists] = [
  { assets: ['A'], pairs: [] },
  { assets: [], pairs: ['B'] },
]

describe.runIf(postgresUrl !== undefined)('of two feeds at once, the newer screen is served whole:', () => {
  test.each<[string, Lists, Lists]>([
    ['one without entries', some, none],
    ['one with entries', none, some],
    ['one with the other half', ...half],
  ])('%s', async (_, older, newer) => {
    const facts = [screenOf(midnight + 1, older), screenOf(midnight + 2, newer)] as const
    for (const [at, [first, second]] of [facts, [facts[1], facts[0]] as const].entries()) {
      if (at > 0) {
        database = await emptyDatabase()
        await apply(database, [strategy('one'), strategy('two')])
      }
      await applyAtOnce(first, second)
      const data = await gatewayOn(database).query(
        '{ universe { screenedAt assets { symbol } pairs { a } } strategies { pairs { a } } }',
      )
      const pairs = newer.pairs.map((a) => ({ a }))
      expect(data).toEqual({
        universe: { screenedAt: midnight + 2, assets: newer.assets.map((symbol) => ({ symbol })), pairs },
        strategies: [{ pairs }, { pairs: [] }],
      })
    }
  })
})
