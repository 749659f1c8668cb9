import { beforeEach, describe, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { linkedPages, nextLink, allPages } from '../support/pages.ts'
import { apply, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

interface Row {
  readonly txHash: string
  readonly block: number
  readonly logIndex: number
  readonly ts: number
  readonly type: string
}

const rowsPerBlock = 3

/** Returns the event with this number: three in each block, with log indexes that are not in the order of the feed. */
function numbered(number: number, vault = vaultA): FactInput {
  const inBlock = number % rowsPerBlock
  const block = 100 + (number - inBlock) / rowsPerBlock
  const shared = { kind: 'event', vault, ts: midnight + block, block, txHash: hashOf(number) } as const
  const logIndex = [20, 9, 100][inBlock] as number
  return number % 2 === 0
    ? { ...shared, logIndex, type: 'harvest', positionId: 'p' }
    : { ...shared, logIndex, type: 'fee', amountUsd: '1' }
}

function hashOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`
}

function events(from: number, to: number): FactInput[] {
  return Array.from({ length: to - from }, (_, index) => numbered(from + index))
}

let database: TestDatabase
let gateway: TestGateway

beforeEach(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('one'), opened(vaultA, 'one'), opened(vaultB, 'one'), numbered(0, vaultB)])
  gateway = gatewayOn(database)
})

async function rowsOf(response: Response): Promise<Row[]> {
  expect(response.status).toBe(200)
  return (await response.json()) as Row[]
}

async function rows(query = ''): Promise<Row[]> {
  return rowsOf(await gateway.get(`/vault/${vaultA}/events${query}`))
}

function isNewestFirst(list: readonly Row[]): boolean {
  return list.every((row, index) => {
    const older = list[index + 1]
    return (
      older === undefined || row.block > older.block || (row.block === older.block && row.logIndex > older.logIndex)
    )
  })
}

describe('the rows', () => {
  test('are newest first: by block, then by log index, as numbers', async () => {
    await apply(database, events(0, 9))
    expect((await rows()).map(({ block, logIndex }) => [block, logIndex])).toEqual([
      [102, 100],
      [102, 20],
      [102, 9],
      [101, 100],
      [101, 20],
      [101, 9],
      [100, 100],
      [100, 20],
      [100, 9],
    ])
  })

  test('are newest first by block, for any order of the feed and any times', async () => {
    const at = (block: number): FactInput => ({ ...numbered(1), block, txHash: hashOf(block) }) as FactInput
    await apply(database, [at(7), at(1_000_000_000_000), at(50)])
    expect((await rows()).map(({ block }) => block)).toEqual([1_000_000_000_000, 50, 7])
  })

  test('are 100 by default, and otherwise as many as requested', async () => {
    await apply(database, events(0, 120))
    expect(await rows()).toHaveLength(100)
    expect(await rows('?limit=1')).toHaveLength(1)
    expect(await rows('?limit=119')).toHaveLength(119)
    expect(await rows('?limit=1000')).toHaveLength(120)
  })
})

describe('filters', () => {
  beforeEach(async () => {
    const later = { kind: 'event', vault: vaultA, ts: midnight + 103, block: 103 } as const
    await apply(database, [
      ...events(0, 9),
      { ...later, txHash: hashOf(98), logIndex: 0, type: 'suspend', reason: 'halt' },
      { ...later, txHash: hashOf(99), logIndex: 1, type: 'resume' },
    ])
  })

  test('select rows of one type, or of several', async () => {
    const types = async (query: string): Promise<string[]> =>
      [...new Set((await rows(query)).map(({ type }) => type))].sort()
    expect(await types('?type=fee')).toEqual(['fee'])
    expect(await types('?type=fee,suspend')).toEqual(['fee', 'suspend'])
    expect(await types('?type=resume,fee,suspend')).toEqual(['fee', 'resume', 'suspend'])
    expect(await types('?type=deposit')).toEqual([])
    expect(await rows('?type=fee')).toHaveLength(4)
    expect(await rows('?type=fee,fee')).toHaveLength(4)
  })

  test('include since and exclude until', async () => {
    const blocks = async (query: string): Promise<number[]> => [
      ...new Set((await rows(query)).map(({ block }) => block)),
    ]
    const [from, to] = [String(midnight + 101), String(midnight + 102)]
    expect(await blocks(`?since=${from}`)).toEqual([103, 102, 101])
    expect(await blocks(`?until=${to}`)).toEqual([101, 100])
    expect(await blocks(`?since=${from}&until=${to}`)).toEqual([101])
    expect(await blocks(`?since=${from}&until=${from}`)).toEqual([])
  })

  test('are combined', async () => {
    const found = await rows(`?type=fee,harvest&since=${String(midnight + 101)}&limit=2`)
    expect(found.map(({ txHash }) => txHash)).toEqual([hashOf(8), hashOf(6)])
  })
})

describe('Link', () => {
  test.each([1, 2, 3, 4, 7, 29, 30])('pages through each of 30 rows once, %i at a time', async (limit) => {
    await apply(database, events(0, 30))
    const pages = await linkedPages(gateway.get, `/vault/${vaultA}/events?limit=${String(limit)}`)
    const lists = await Promise.all(pages.map(rowsOf))
    expect(lists.slice(0, -1).every(({ length }) => length === limit)).toBe(true)
    expect(lists).toHaveLength(Math.ceil(30 / limit))
    const all = lists.flat()
    expect(isNewestFirst(all)).toBe(true)
    expect(all.map(({ txHash }) => txHash).sort()).toEqual(Array.from({ length: 30 }, (_, index) => hashOf(index)))
  })

  test('pages through each row once while new ones arrive between the pages', async () => {
    await apply(database, events(0, 12))
    let arrived = 12
    const first = await gateway.get(`/vault/${vaultA}/events?limit=5`)
    const pages = await allPages(first, async (response) => {
      await apply(database, events(arrived, arrived + 4))
      arrived += 4
      const next = nextLink(response)
      return next === null ? null : gateway.get(next)
    })
    const all = (await Promise.all(pages.map(rowsOf))).flat()
    expect(isNewestFirst(all)).toBe(true)
    expect(all.map(({ txHash }) => txHash).sort()).toEqual(Array.from({ length: 12 }, (_, index) => hashOf(index)))
    expect(arrived).toBe(24)
  })

  test('keeps the other parameters of the path', async () => {
    await apply(database, events(0, 30))
    const [since, until] = [String(midnight + 102), String(midnight + 108)]
    const path = `/vault/${vaultA}/events?type=fee,deposit&since=${since}&limit=2&until=${until}&mine=a%26b`
    const next = new URL(nextLink(await gateway.get(path)) ?? '', 'http://gateway.test')
    expect(next.pathname).toBe(`/vault/${vaultA}/events`)
    const { cursor, ...others } = Object.fromEntries(next.searchParams)
    expect(others).toEqual({ type: 'fee,deposit', since, until, limit: '2' })
    expect(cursor).toMatch(/^[\w-]+$/)

    const all = (await Promise.all((await linkedPages(gateway.get, path)).map(rowsOf))).flat()
    expect(all.map(({ txHash }) => txHash)).toEqual(
      (await rows(`?type=fee&since=${since}&until=${until}`)).map(({ txHash }) => txHash),
    )
    expect(all).toHaveLength(9)
  })

  test('has a new cursor on each page, and only one', async () => {
    await apply(database, events(0, 9))
    const pages = await linkedPages(gateway.get, `/vault/${vaultA}/events?limit=2`)
    const cursors = pages
      .slice(0, -1)
      .map((page) => new URL(nextLink(page) ?? '', 'http://gateway.test').searchParams.getAll('cursor'))
    expect(cursors.every(({ length }) => length === 1)).toBe(true)
    expect(new Set(cursors.flat()).size).toBe(4)
  })

  test('is absent on the last page, and on an only page', async () => {
    await apply(database, events(0, 4))
    for (const query of ['', '?limit=4', '?limit=5', '?type=suspend', '?type=fee&limit=2']) {
      expect(nextLink(await gateway.get(`/vault/${vaultA}/events${query}`))).toBeNull()
    }
    expect((await linkedPages(gateway.get, `/vault/${vaultA}/events?limit=2`)).at(-1)?.headers.get('link')).toBeNull()
  })

  test('is a short header, however long the filters of the request are', async () => {
    await apply(database, events(0, 9))
    const path = `/vault/${vaultA}/events?type=${'fee,deposit,'.repeat(200)}fee&since=${'0'.repeat(2_000)}7&limit=001`
    const [first, second] = await linkedPages(gateway.get, path)
    expect(first.headers.get('link')).toMatch(/\?type=fee%2Cdeposit&since=7&limit=1&cursor=[^&]{1,300}>/)
    expect(await second?.json()).toHaveLength(1)
  })
})
