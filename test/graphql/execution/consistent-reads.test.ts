import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { Canceller } from '../../../src/database/cancellation.ts'
import { readFeedStates } from '../../../src/database/read/feed.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { createConsistentReads } from '../../../src/graphql/execution/consistent-reads.ts'
import type { DataOrigin, RequestContext } from '../../../src/graphql/execution/context.ts'
import { admissionLimits } from '../../../src/limits.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { timePasses } from '../../support/time-passes.ts'
import { apply, deposit, mark, midnight, opened, position, strategy, vaultA, vaultB } from '../../support/world.ts'

/** Returns a mark with one number as value, rewards and current price: above 110 the position is out of range. */
function markOf(vault: string, number: number): FactInput {
  const own = { ...position('p', String(number)), pendingRewardsUsd: String(number) }
  const fees = { contributedUsd: '1', withdrawnUsd: '0', taxedUsd: '0', highWaterUsd: String(number) }
  return mark(vault, midnight + number, String(number), { positions: [own], fees })
}

interface Gateway extends TestGateway {
  /** Number of operations that were repeated. */
  repeated(): number
}

let database: TestDatabase

beforeEach(async () => {
  database = await emptyDatabase()
  await apply(database, [
    strategy('one'),
    ...[vaultA, vaultB].flatMap((vault) => [
      opened(vault, 'one'),
      deposit(vault, midnight + 10, '100'),
      markOf(vault, 100),
    ]),
  ])
  database.takeStatements()
})

test('the snapshot transaction of an operation with a failed long read counts as one with long reads', async () => {
  const versions = ['1', '2']
  const failing = { name: 'failing', text: '', dependsOn: 'all vaults', isLong: true } as const
  const snapshots: (boolean | undefined)[] = []
  const runConsistently = createConsistentReads({
    read: (read) =>
      read.isLong === true
        ? Promise.reject(new Error('no connection'))
        : Promise.resolve({ rows: [], version: versions.shift() ?? '' }),
    snapshotsAtOnce: 1,
    snapshot: (_run, _signal, isLong) => {
      snapshots.push(isLong)
      return Promise.reject(new Error('the snapshot'))
    },
  })
  const requestContext = { sender: 'a', report: () => undefined } as unknown as RequestContext
  const run = runConsistently(requestContext, async ({ reader }) => {
    await Promise.all([1, 2].map(() => reader.query({ name: 'short', text: '', dependsOn: 'all vaults' }, [])))
    await reader.query(failing, [])
  })
  await expect(run).rejects.toThrow('the snapshot')
  expect(snapshots).toEqual([true])
})

test('senders take turns in snapshot transactions, which leave connections for other reads', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  let sent = 0
  const run = createConsistentReads({
    snapshotsAtOnce: 2,
    read: () => Promise.resolve({ rows: [], version: `${++sent}.1` }),
    snapshot: async (work) => {
      await new Promise<void>((resolve) => ends.push(resolve))
      return work({ read: () => Promise.resolve({ rows: [], version: '9.1' }) })
    },
  })
  const ask = (sender: string, signal?: Canceller): Promise<void> =>
    run({ sender, report: String, ...(signal && { signal }) }, async ({ reader }) => {
      for (let at = 0; at < 2; at++) await reader.query({ name: 'short', text: '', dependsOn: 'all vaults' }, [])
      begun.push(sender)
    })
  const next = async (): Promise<void> => {
    for (const end of ends.splice(0)) end()
    await timePasses(5)
  }
  const leaving = new Canceller()
  const first = ask('a')
  const left = ask('a', leaving)
  const requests = [first, left, ask('a'), ask('a'), ask('b'), ask('c')]
  const outcomes = Promise.allSettled(requests)
  await timePasses(5)
  begun.length = 0
  expect(ends).toHaveLength(2)
  leaving.abort()
  for (let times = 0; times < 4; times++) await next()
  expect(begun).toEqual(['a', 'b', 'a', 'c', 'a'])
  expect((await outcomes).map(({ status }) => status)).toEqual(
    requests.map((each) => (each === left ? 'rejected' : 'fulfilled')),
  )
})

test.each([
  [
    'before its parent has been read',
    `{ a: vaults(first: 0) { totalCount } b: vaults(first: 5) { nodes { performance { volatility } } } }`,
  ],
  [
    'of the same vault',
    `{ vault(address: "${vaultA}") { events(first: 0) { totalCount } strategy { vaults(first: 2) { nodes { equity(points: 5) { ts } } } } } }`,
  ],
])('after the answer of an operation with a field that fails nothing more is read for a field %s', async (_, query) => {
  let running = 0
  const slow = readingBy(database, async (read, values, signal, reader) => {
    running++
    try {
      await wait(50)
      return await reader.read(read, values, signal)
    } finally {
      running--
    }
  })
  await expect(gatewayOn(slow).query(query)).rejects.toThrow('first is 0')
  const sent = database.takeStatements()
  await expect.poll(() => running).toBe(0)
  await wait(200)
  expect(running).toBe(0)
  // Those that ran then may have reached the database, and none that needs their rows.
  expect(
    database.takeStatements().filter((name) => /performance|days|equity|growth/.test(name)),
    String(sent),
  ).toEqual([])
})

/** Creates a gateway on a database in which these facts are applied directly after the first read of a statement. */
function between(statement: string, facts: readonly FactInput[]): Gateway {
  let isApplied = false
  let repeats = 0
  const changing = readingBy(database, async (read, values, signal, reader) => {
    const found = await reader.read(read, values, signal)
    if (read.name.startsWith(statement) && !isApplied) {
      isApplied = true
      await apply(database, facts)
    }
    return found
  })
  const gateway = gatewayOn(changing, { observer: { onRepeat: () => void repeats++ } })
  return Object.assign(gateway, { repeated: () => repeats })
}

const markFields = `address status valueUsd fees { highWaterUsd } positions { range { current } inRange pendingRewardsUsd }
  equity(points: 5) { valueUsd } events(first: 1) { nodes { ts } }`

interface MarkFields {
  readonly status: string
  readonly valueUsd: number
  readonly fees: { readonly highWaterUsd: number }
  readonly positions: readonly { readonly range: { current: number }; inRange: boolean; pendingRewardsUsd: number }[]
  readonly equity?: readonly { readonly valueUsd: number }[]
}

/** Returns the distinct numbers of marks in a vault's fields. */
function numbersOf({ valueUsd, fees, positions, equity = [] }: MarkFields): number[] {
  const [own] = positions
  const newest = equity.at(-1)
  return [
    ...new Set([
      valueUsd,
      fees.highWaterUsd,
      own?.range.current ?? NaN,
      own?.pendingRewardsUsd ?? NaN,
      newest?.valueUsd ?? valueUsd,
    ]),
  ]
}

const both = [markOf(vaultA, 120), markOf(vaultB, 120)]

describe('a response between whose statements facts are committed', () => {
  test('is of one moment over REST', async () => {
    const gateway = between('vaults_by_address', both)
    const snapshot = (await (await gateway.get(`/vault/${vaultA}/snapshot`)).json()) as MarkFields
    expect(numbersOf(snapshot)).toEqual([120])
    expect([snapshot.status, snapshot.positions[0]?.inRange]).toEqual(['attention', false])
    expect(gateway.repeated()).toBe(1)
  })

  test.each([
    ['a vault', 'vaults_by_address', `{ vault(address: "${vaultA}") { ${markFields} } }`],
    ['a vault whose points come later', 'equity_candidates', `{ vault(address: "${vaultA}") { ${markFields} } }`],
    [
      'a vault and its position by their ids',
      'vaults_by_address',
      `{ nodes(ids: ["${vaultA}", "one", "${vaultA}/position/p"]) { id ... on Vault { ${markFields} } } }`,
    ],
    ['a list of vaults', 'vault_page', `{ vaults(first: 5) { nodes { ${markFields} } } }`],
    ['a list and its length', 'vault_page', `{ vaults(first: 5) { totalCount nodes { ${markFields} } } }`],
    ['the vaults of strategies', 'strategies', `{ strategies { id vaults(first: 5) { nodes { ${markFields} } } } }`],
    [
      'the vaults of strategies whose list comes first',
      'vault_page',
      `{ strategies { id vaults(first: 5) { nodes { ${markFields} } } } }`,
    ],
    [
      'the same under aliases',
      'vaults_by_address',
      `{ a: vault(address: "${vaultA}") { ${markFields} }
      b: vault(address: "${vaultB}") { ${markFields} } vaults(first: 5) { nodes { ${markFields} } } }`,
    ],
  ])('is of one moment in GraphQL: %s', async (_, statement, query) => {
    const gateway = between(statement, both)
    // The second request does not pass through Yoga.
    for (const _ of [1, 2]) {
      const vaults = vaultsIn(await gateway.query(query))
      expect(vaults.length).toBeGreaterThan(0)
      expect(new Set(vaults.flatMap(numbersOf)).size).toBe(1)
    }
    expect(vaultsIn(await gateway.query(query)).flatMap(numbersOf)).toContain(120)
  })

  test('is of one moment in a database without feeds', async () => {
    await database.prisma.feed.deleteMany()
    const gateway = between('nothing', [])
    await gateway.query(`{ _meta { feeds { name } } vault(address: "${vaultA}") { address } }`)
    expect(gateway.repeated()).toBe(0)
  })

  test('has no error from two moments', async () => {
    // The vault that was read runs a strategy that the second statement does not find.
    let count = 0
    const gateway = gatewayOn(
      readingBy(database, async (read, values, signal, reader) => {
        const found = await reader.read(read, values, signal)
        if (read.name !== 'strategies_by_id' || count++ > 0) return found
        return { rows: [], version: 'another' }
      }),
    )
    expect(await gateway.query(`{ vault(address: "${vaultA}") { strategy { id } } }`)).toEqual({
      vault: { strategy: { id: 'one' } },
    })
    expect(gateway.reported).toEqual([])
  })

  test('is repeated once, in one snapshot, however often facts are committed', async () => {
    let at = 120
    let repeats = 0
    const busy = readingBy(database, async (read, values, signal, reader) => {
      const found = await reader.read(read, values, signal)
      if (repeats === 0) await apply(database, [markOf(vaultA, at++)])
      return found
    })
    const gateway = gatewayOn(busy, { observer: { onRepeat: () => void repeats++ } })
    database.takeStatements()
    const snapshot = (await (await gateway.get(`/vault/${vaultA}/snapshot`)).json()) as MarkFields
    expect(numbersOf(snapshot)).toHaveLength(1)
    expect(repeats).toBe(1)
    expect(database.takeStatements()).toEqual([
      'vaults_by_address',
      'positions_by_vault',
      'vaults_by_address',
      'positions_by_vault',
    ])
  })
})

test('an operation runs once if nothing is committed meanwhile, for any reads', async () => {
  let repeats = 0
  const gateway = gatewayOn(database, { observer: { onRepeat: () => void repeats++ } })
  await gateway.query(`{ strategies { pairs { a } vaults(first: 5) { totalCount nodes { ${markFields} strategy { id } } } }
    vaults(first: 5) { nodes { events { totalCount } equity(points: 5) { netUsd } } } universe { screenedAt pairs { a } assets { name } } }`)
  for (const path of ['snapshot', 'equity', 'events']) await gateway.get(`/vault/${vaultA}/${path}`)
  expect(repeats).toBe(0)
})

test('every frequent read returns the data version', async () => {
  const versions = new Map<string, string | null>()
  const head = { name: 'head', text: 'select version from data_head' }
  const [version] = await database.query<{ version: string }>(head, [])
  expect(version?.version).toMatch(/^1\.\d+$/)
  const { query } = gatewayOn(
    readingBy(database, async (read, values, signal, reader) => {
      const found = await reader.read(read, values, signal)
      versions.set(read.name, found.version)
      return found
    }),
  )
  await query(`{ strategy(id: "one") { id } strategies { pairs { a } vaults { totalCount nodes { address } } }
    vault(address: "${vaultA}") { ${markFields} all: events { totalCount } one: events(type: [DEPOSIT]) { totalCount nodes { ts } }
      some: events(type: [DEPOSIT, FEE]) { totalCount nodes { ts } } strategy { id } }
    universe { screenedAt pairs { a } assets { name } } _meta { feeds { name } } }`)
  for (const field of ['VALUE_USD', 'NET_USD', 'UPDATED_AT', 'ADDRESS'])
    for (const direction of ['ASC', 'DESC'])
      await query(`{ vaults(orderBy: { field: ${field}, direction: ${direction} }) { nodes { address } } }`)
  await query(`{ node(id: "${vaultA}/event/0x${'0'.repeat(64)}/0") { id } }`)
  expect(versions.size).toBe(25)
  expect([...new Set(versions.values())]).toEqual([version?.version])
})

/** Returns all vaults of a response, at any depth. */
function vaultsIn(data: unknown): MarkFields[] {
  if (typeof data !== 'object' || data === null) return []
  if ('valueUsd' in data && 'positions' in data) return [data as MarkFields]
  return Object.values(data).flatMap(vaultsIn)
}

test('reads of a database without a commit have the empty version', async () => {
  const empty = await emptyDatabase()
  const origin: DataOrigin = { tags: new Set(), version: 'none yet', isCacheable: true }
  const run = createConsistentReads(empty)
  await run({ report: String, sender: 'one', origin }, ({ reader }) => readFeedStates(reader))
  expect(origin.version).toBe('')
  await apply(empty, [strategy('first')])
  await run({ report: String, sender: 'one', origin }, ({ reader }) => readFeedStates(reader))
  expect(origin.version).toMatch(/^1\.\d+$/)
})

test('an operation has a limited number of concurrent statements, so that others get connections', async () => {
  const together = { running: 0, most: 0, inAll: 0 }
  const slow = readingBy(database, async (read, values, signal, reader) => {
    together.most = Math.max(together.most, ++together.running)
    together.inAll++
    await wait(5)
    return reader.read(read, values, signal).finally(() => together.running--)
  })
  const ledgers = Array.from({ length: 20 }, (_, index) => `e${index}: events(first: ${index + 1}) { nodes { ts } }`)
  const data = await gatewayOn(slow).query(`{ vault(address: "${vaultA}") { ${ledgers.join(' ')} } }`)
  expect(data).toMatchObject({ vault: { e19: { nodes: [{ ts: midnight + 10 }] } } })
  expect(together).toEqual({ running: 0, most: admissionLimits.readsOfOperation, inAll: 21 })
})
