import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toAddress } from '../../src/domain/address.ts'
import { BadFact } from '../../src/feed/errors.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { type Dump, dump } from '../support/dump.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { apply, deposit, event, mark, midnight, opened, position, strategy, vaultA, vaultB } from '../support/world.ts'

type Line = FactInput | string | Buffer

const checksummedA = toAddress(vaultA)
const screen: FactInput = {
  kind: 'screen',
  ts: midnight,
  assets: [{ symbol: 'WETH', name: 'Wrapped Ether', category: 'major', venues: ['dex'], liquidityUsd: '5' }],
  pairs: [{ a: 'WETH', b: 'USDC', venues: ['dex'], tvlUsd: '7', emissions: false }],
  strategies: { one: [{ a: 'WETH', b: 'USDC', venues: ['dex'] }] },
}
const firstMark = mark(vaultA, midnight + 20, '101', { positions: [position('p')] })

/** A blank line, which is no fact but is counted. */
const before: readonly Line[] = [
  strategy('one'),
  screen,
  '',
  opened(vaultA, 'one'),
  deposit(vaultA, midnight + 10, '100'),
  firstMark,
]
const badLine = before.length + 1
const after = mark(vaultA, midnight + 90, '103')
const soon = midnight + 30

/** Writes a fact with changed keys; undefined removes the key. */
function altered(fact: FactInput, changes: Record<string, unknown>): string {
  return JSON.stringify({ ...fact, ...changes })
}

const marked = (changes: Record<string, unknown>) => altered(mark(vaultA, soon, '102'), changes)
const placed = (changes: Record<string, unknown>) => marked({ positions: [{ ...position('p'), ...changes }] })
const deposited = (changes: Record<string, unknown>) => altered(deposit(vaultA, soon, '50', '100'), changes)
const withdrawal = (amountUsd: string, valueBeforeUsd: string) =>
  event(vaultA, soon, { type: 'withdraw', amountUsd, valueBeforeUsd, prices: { USDC: '1' } })
const screened = (changes: Record<string, unknown>) => altered({ ...screen, ts: soon }, changes)
const ofSize = (bytes: number) => marked({}).padEnd(bytes)

type Case = [badFact: string, line: Line, key: string | null, reason: string | RegExp]

const badJson: Case[] = [
  ['broken JSON', '{"kind":"mark",', null, /^the line is not JSON: .*end/],
  ['the half of a line', marked({}).slice(0, 40), null, /^the line is not JSON: /],
  ['text after the object', `${marked({})} {}`, null, /^the line is not JSON: /],
  ['a key that stands twice', '{"kind":"mark","ts":1,"ts":2}', null, /^the line is not JSON: Duplicate key 'ts'/],
  [
    'a key that stands twice, and white space before the colon of another',
    '{"kind" :"mark","ts":1,"ts":2}',
    null,
    /^the line is not JSON: Duplicate key 'ts'/,
  ],
  ['an array', '[]', null, 'the line is not a JSON object'],
  ['null', 'null', null, 'the line is not a JSON object'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), null, 'the line is not UTF-8'],
  ['10 MB', ofSize(10_000_000), null, 'the line has 10000000 bytes, more than 4194304'],
  ['more than is held', ofSize(40_000_000), null, 'the line has 40000000 bytes, more than 4194304'],
]

const badShape: Case[] = [
  ['no kind', '{"ts":1}', 'kind', 'is missing'],
  ['an unknown kind', marked({ kind: 'trade' }), 'kind', 'is "trade", which is no kind of fact'],
  ['no type', deposited({ type: undefined }), 'type', 'is missing'],
  ['an unknown type', deposited({ type: 'borrow' }), 'type', 'is "borrow", which is no type of event'],
  ['a missing key', marked({ valueUsd: undefined }), 'valueUsd', 'is missing'],
  ['a missing list', marked({ positions: undefined }), 'positions', 'is missing'],
  [
    'a missing key inside',
    placed({ pool: { a: 'A', b: 'B', venue: 'dex' } }),
    'positions[0].pool.feeTier',
    'is missing',
  ],
  ['an unknown key', marked({ score: 1 }), 'score', 'is not a key of this kind of fact'],
  ['an unknown key inside', placed({ weight: 1 }), 'positions[0].weight', 'is not a key of this kind of fact'],
  ['a rank in the screen', screened({ rank: [] }), 'rank', 'is not a key of this kind of fact'],
  ["another type's key", deposited({ positionId: 'p' }), 'positionId', 'is not a key of this kind of fact'],
  ['a time as text', marked({ ts: '30' }), 'ts', 'is a string, not a whole number'],
  ['a time that is not whole', marked({ ts: 0 }).replace('"ts":0', '"ts":1.5'), 'ts', 'is 1.5, not a whole number'],
  ['a time in milliseconds', marked({ ts: soon * 1000 }), 'ts', `is ${soon * 1000}, more than 253402300799`],
  ['a time before 1970', marked({ ts: -1 }), 'ts', 'is -1, less than 0'],
  ['an object for a list', marked({ positions: {} }), 'positions', 'is an object, not an array'],
  ['a list for an object', marked({ prices: [] }), 'prices', 'is an array, not an object'],
  ['null for text', altered(strategy('two'), { name: null }), 'name', 'is null, not a string'],
  ['empty text', altered(strategy('two'), { id: '' }), 'id', 'is empty'],
  [
    'text that cannot be stored',
    altered(strategy('two'), { name: 'a\0b' }),
    'name',
    'holds a NUL or half a surrogate pair',
  ],
  [
    'a word for a truth',
    screened({ pairs: [{ a: 'A', b: 'B', venues: [], tvlUsd: '1', emissions: 'no' }] }),
    'pairs[0].emissions',
    'is a string, not a boolean',
  ],
  [
    'an unknown category',
    screened({ assets: [{ ...screen.assets[0], category: 'bond' }] }),
    'assets[0].category',
    'is "bond", not "major" or "stable" or "stock token" or "meme"',
  ],
  [
    'a position twice',
    marked({ positions: [position('p'), position('p')] }),
    'positions[1].id',
    'is that of another position too',
  ],
  [
    'an asset twice',
    screened({ assets: [screen.assets[0], screen.assets[0]] }),
    'assets[1].symbol',
    'is that of another asset too',
  ],
  [
    'a range upside down',
    placed({ range: { lower: '2', upper: '1', current: '1' } }),
    'positions[0].range.lower',
    'is above upper',
  ],
  ['a short hash', deposited({ txHash: '0x12' }), 'txHash', 'is not 0x and 64 hex digits'],
]

const badAddresses: Case[] = [
  ['a short address', marked({ vault: '0xa1' }), 'vault', '"0xa1" is not an address: it is not 0x and 40 hex digits'],
  [
    'a long one',
    marked({ vault: `${vaultA}0` }),
    'vault',
    `"${vaultA}0" is not an address: it is not 0x and 40 hex digits`,
  ],
  ['one without 0x', marked({ vault: vaultA.slice(2) }), 'vault', /it is not 0x and 40 hex digits$/],
  [
    'a wrong checksum',
    marked({ vault: '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }),
    'vault',
    /its EIP-55 checksum is wrong$/,
  ],
  [
    "a bad owner's",
    altered(opened(vaultB, 'one'), { owner: '0x' }),
    'owner',
    '"0x" is not an address: it is not 0x and 40 hex digits',
  ],
]

const badAmounts: Case[] = [
  ['a negative amount', marked({ valueUsd: '-0.01' }), 'valueUsd', 'is -0.01, less than 0'],
  ['a negative number', marked({ valueUsd: -5 }), 'valueUsd', 'is -5, less than 0'],
  [
    '7 decimals of a dollar',
    marked({ valueUsd: '1.1234567' }),
    'valueUsd',
    'is 1.1234567, which has more than 6 decimals',
  ],
  [
    '7 decimals as a number',
    marked({ valueUsd: 1.1234567 }),
    'valueUsd',
    'is 1.1234567, which has more than 6 decimals',
  ],
  [
    '19 decimals of a price',
    marked({ prices: { USDC: `1.${'1'.repeat(19)}` } }),
    'prices.USDC',
    /which has more than 18 decimals$/,
  ],
  [
    '19 decimals of a token',
    deposited({ assets: [{ symbol: 'USDC', amount: `1.${'1'.repeat(19)}` }] }),
    'assets[0].amount',
    /which has more than 18 decimals$/,
  ],
  [
    'more than can be stored',
    marked({ valueUsd: '1'.repeat(33) }),
    'valueUsd',
    /which has more than 32 digits before the point$/,
  ],
  [
    'an exponent out of all bounds',
    marked({ valueUsd: 0 }).replace('"valueUsd":0', '"valueUsd":1e999999'),
    'valueUsd',
    'is 1e999999, which has more than 32 digits before the point',
  ],
  ['words', marked({ valueUsd: 'much' }), 'valueUsd', 'is "much", not a decimal such as "1234.5"'],
  ['an exponent as text', marked({ valueUsd: '1e3' }), 'valueUsd', 'is "1e3", not a decimal such as "1234.5"'],
  ['no amount at all', marked({ valueUsd: '' }), 'valueUsd', 'is "", not a decimal such as "1234.5"'],
]

const contradictions: Case[] = [
  [
    'a vault of an unknown strategy',
    opened(vaultB, 'two'),
    'strategy',
    'names "two", a strategy that no fact has published',
  ],
  [
    'a screen of an unknown strategy',
    screened({ strategies: { two: [] } }),
    'strategies.two',
    'names "two", a strategy that no fact has published',
  ],
  ['a mark of an unknown vault', mark(vaultB, soon, '1'), 'vault', /^is 0x[bB2]{40}, a vault that no fact has opened$/],
  [
    'an event of an unknown vault',
    deposit(vaultB, soon, '1'),
    'vault',
    /^is 0x[bB2]{40}, a vault that no fact has opened$/,
  ],
  [
    "a deposit that isn't its assets' worth",
    deposited({ amountUsd: '50.000001' }),
    'amountUsd',
    'is 50.000001, but the assets at these prices are worth 50',
  ],
  [
    'a withdrawal over the value',
    withdrawal('101.000001', '101'),
    'amountUsd',
    'is 101.000001, more than the 101 the vault holds',
  ],
  [
    'a mark without the price of a held asset',
    marked({ prices: { WETH: '2000' } }),
    'prices.USDC',
    "is missing: the vault's deposits have brought in USDC",
  ],
  ['a deposit without the price of its asset', deposited({ prices: {} }), 'prices.USDC', /^is missing/],
  [
    'an older mark',
    mark(vaultA, midnight + 19, '101'),
    'ts',
    `is ${midnight + 19}, older than the vault's newest fact, ${midnight + 20}`,
  ],
  [
    'an older event',
    deposit(vaultA, midnight + 19, '1', '101'),
    'ts',
    `is ${midnight + 19}, older than the vault's newest fact, ${midnight + 20}`,
  ],
]

const knownOtherwise: Case[] = [
  [
    'strategy',
    altered(strategy('one'), { name: 'Other' }),
    'ts',
    `is that of a known strategy one at ${midnight}, which has other contents`,
  ],
  [
    'screen',
    screened({ ts: midnight, pairs: [] }),
    'ts',
    `is that of a known screen at ${midnight}, which has other contents`,
  ],
  [
    'vault',
    altered(opened(vaultA, 'one'), { owner: vaultB }),
    'vault',
    `is that of a known vault ${checksummedA}, which has other contents`,
  ],
  [
    'mark',
    altered(firstMark, { valueUsd: '101.5' }),
    'ts',
    `is that of a known mark of ${checksummedA} at ${midnight + 20}, which has other contents`,
  ],
  [
    'event',
    altered(deposit(vaultA, midnight + 10, '100'), { block: 1 }),
    'logIndex',
    /^is that of a known event 0x\w{64} 410 of 0x\w{40}, which/,
  ],
]

const nines = '9'.repeat(32)
const twoNines = (2n * BigInt(nines)).toString()
const pepe = (price: string) => ({ PEPE: price })
const pepeDeposit = (ts: number, amountUsd: string, amount: string, price: string) =>
  event(vaultB, ts, {
    type: 'deposit',
    amountUsd,
    assets: [{ symbol: 'PEPE', amount }],
    valueBeforeUsd: '0',
    prices: pepe(price),
  })
const out = (ts: number, amountUsd: string, valueBeforeUsd: string, prices: Record<string, string> = { USDC: '1' }) =>
  event(vaultB, ts, { type: 'withdraw', amountUsd, valueBeforeUsd, prices })

/** Facts of vault B of which the last exceeds the limit of a column. */
const tooLarge: [figure: string, facts: FactInput[], key: string, reason: string | RegExp][] = [
  [
    'what the vault is worth',
    [deposit(vaultB, soon, nines), deposit(vaultB, soon + 1, nines, nines)],
    'amountUsd',
    `would take valueUsd to ${twoNines}, which has more than 32 digits before the point`,
  ],
  [
    'the capital put in',
    [deposit(vaultB, soon, nines), out(soon + 1, nines, nines), deposit(vaultB, soon + 2, nines)],
    'amountUsd',
    `would take capitalInUsd to ${twoNines}, which has more than 32 digits before the point`,
  ],
  [
    'the capital taken out',
    [deposit(vaultB, soon, nines), out(soon + 1, nines, nines), out(soon + 2, nines, nines)],
    'amountUsd',
    `would take capitalOutUsd to ${twoNines}, which has more than 32 digits before the point`,
  ],
  [
    'the quantity of an asset',
    [0, 1].map((later) => pepeDeposit(soon + later, '0', '9'.repeat(40), '0')),
    'assets',
    `would take the PEPE of all deposits to 1${'9'.repeat(39)}8, which has more than 40 digits before the point`,
  ],
  [
    'what is paid out of the benchmark',
    [
      pepeDeposit(soon, '1000000000', '1000000000000000', '0.000001'),
      out(soon + 1, '1', '2', pepe(`1${'0'.repeat(26)}`)),
    ],
    'prices',
    `would take what withdrawals have taken of the deposits to 5${'0'.repeat(40)}, which has more than 40 digits before the point`,
  ],
  [
    'the growth of a day',
    [
      ...['0.000001', `1${'0'.repeat(31)}`].map((valueUsd, later) => mark(vaultB, soon + later, valueUsd)),
      out(soon + 2, `${'9'.repeat(31)}.999999`, `1${'0'.repeat(31)}`),
      mark(vaultB, soon + 3, `1${'0'.repeat(31)}`),
    ],
    'valueUsd',
    `would take the day's growth to 1${'0'.repeat(74)}, which has more than 40 digits before the point`,
  ],
  [
    "the market's part",
    [
      pepeDeposit(soon, '1000000000', '1000000000000000', '0.000001'),
      mark(vaultB, soon + 1, '1000000001', { prices: pepe('0.000001') }),
      mark(vaultB, soon + 2, '1000000002', { prices: pepe(`1${'0'.repeat(18)}`) }),
    ],
    'prices',
    `would take marketDeltaUsd to ${'9'.repeat(24)}${'0'.repeat(9)}, which has more than 32 digits before the point`,
  ],
  [
    'the gain net of flows',
    [out(soon, nines, nines), mark(vaultB, soon + 1, nines)],
    'valueUsd',
    `would take netUsd to ${twoNines}, which has more than 32 digits before the point`,
  ],
  [
    "the strategy's part",
    [
      deposit(vaultB, soon, nines),
      out(soon + 1, nines, nines, { USDC: '0' }),
      event(vaultB, soon + 2, { type: 'withdraw', amountUsd: '0', valueBeforeUsd: nines, prices: { USDC: '0' } }),
    ],
    'valueBeforeUsd',
    `would take strategyDeltaUsd to ${twoNines}, which has more than 32 digits before the point`,
  ],
]

describe('a feed is refused at its first bad line, and all before it is committed:', () => {
  let database: TestDatabase
  let applied: Dump

  beforeAll(async () => {
    database = await emptyDatabase()
    await apply(database, before)
    applied = await dump(database)
  })
  beforeEach(async () => {
    await emptyDatabase()
  })

  const refuses = async (_case: string, line: Line, key: string | null, reason: string | RegExp): Promise<void> => {
    const error: unknown = await apply(database, [...before, line, after]).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BadFact)
    const badFact = error as BadFact
    expect({ line: badFact.line, key: badFact.key }).toEqual({ line: badLine, key })
    if (typeof reason === 'string') expect(badFact.reason).toBe(reason)
    else expect(badFact.reason).toMatch(reason)
    expect(badFact.message).toBe(`standard input, line ${badLine}: ${key === null ? '' : `${key} `}${badFact.reason}`)
    expect(await dump(database)).toEqual(applied)
  }

  describe('a line that is no object', () => test.each(badJson)('%s', refuses))
  describe('a fact of the wrong shape', () => test.each(badShape)('%s', refuses))
  describe('an address', () => test.each(badAddresses)('%s', refuses))
  describe('an amount', () => test.each(badAmounts)('%s', refuses))
  describe('a fact that contradicts stored state', () => test.each(contradictions)('%s', refuses))
  describe('a known identity with other contents', () => test.each(knownOtherwise)('of kind %s', refuses))

  describe('a figure that can not be stored', () => {
    const lines = (facts: FactInput[]): Line[] => [...before, opened(vaultB, 'one'), ...facts]

    test.each(tooLarge)('%s', async (_figure, facts, key, reason) => {
      await apply(database, lines(facts.slice(0, -1)))
      const beforeIt = await dump(database)
      await emptyDatabase()
      const line = lines(facts).length
      await expect(apply(database, [...lines(facts), after])).rejects.toMatchObject({
        name: 'BadFact',
        line,
        key,
        reason,
      })
      expect(await dump(database)).toEqual(beforeIt)
      // In a batch of its own, it is rejected with the same message.
      const [last] = facts.slice(-1) as [FactInput]
      await expect(apply(database, [last])).rejects.toMatchObject({ name: 'BadFact', line: 1, key, reason })
    })
  })

  test('a mark without the price of an asset that was withdrawn completely', async () => {
    const prices = { USDC: '1', WETH: '2000' }
    const assets = [
      { symbol: 'USDC', amount: '1000' },
      { symbol: 'WETH', amount: '0.5' },
    ]
    const emptied: Line[] = [
      strategy('one'),
      opened(vaultA, 'one'),
      event(vaultA, midnight + 1, { type: 'deposit', amountUsd: '2000', assets, valueBeforeUsd: '0', prices }),
      event(vaultA, midnight + 2, { type: 'withdraw', amountUsd: '2100', valueBeforeUsd: '2100', prices }),
    ]
    await apply(database, emptied)
    const beforeIt = await dump(database)
    const missing = { line: 1, reason: "is missing: the vault's deposits have brought in WETH" }
    const unpriced = mark(vaultA, midnight + 3, '0', { prices: { USDC: '1' } })
    await expect(apply(database, [unpriced])).rejects.toMatchObject({ key: 'prices.WETH', ...missing })
    const { feed: _, ...rest } = beforeIt
    expect(await dump(database)).toMatchObject(rest)
    // In the batch of the withdrawal it is the same.
    await emptyDatabase()
    await expect(apply(database, [...emptied, unpriced])).rejects.toMatchObject({ ...missing, line: 5 })
    expect(await dump(database)).toEqual(beforeIt)
    expect(await apply(database, [mark(vaultA, midnight + 3, '0', { prices })])).toMatchObject({ applied: { mark: 1 } })
  })

  test('the first line too', async () => {
    await expect(apply(database, [opened(vaultA, 'one'), ...before])).rejects.toThrow(
      'standard input, line 1: strategy',
    )
    expect(Object.values(await dump(database)).flat()).toEqual([])
  })

  test('another chain than that of the vault; where it has none, a repetition of its fact adds one', async () => {
    await apply(database, before)
    const on = (chainId: number) => altered(opened(vaultA, 'one'), { chainId })
    const chain = async () => (await database.prisma.vault.findFirst())?.chainId
    expect([await apply(database, [opened(vaultA, 'one'), on(10), on(10)]), await chain()]).toMatchObject([
      { applied: { vault: 1 }, skipped: { vault: 2 } },
      10n,
    ])
    // One batch after that of the chain, and in the same one.
    for (const lines of [[on(1)], [after, on(1)]]) {
      await expect(apply(database, lines)).rejects.toMatchObject({ line: lines.length, key: 'vault' })
    }
    expect([await apply(database, [opened(vaultA, 'one'), on(10)]), await chain()]).toMatchObject([
      { applied: {}, skipped: { vault: 2 } },
      10n,
    ])
  })

  test('a contradiction within the same batch as within an earlier one', async () => {
    await apply(database, before)
    await expect(apply(database, [strategy('two'), altered(strategy('one'), { name: 'Other' })])).rejects.toMatchObject(
      {
        line: 2,
        key: 'ts',
      },
    )
    const { strategy: strategies = [] } = await dump(database)
    expect(strategies).toHaveLength(2)
  })
})

describe('a feed with rejects', () => {
  let folder: string
  let database: TestDatabase

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'rejects-'))
  })
  beforeEach(async () => {
    database = await emptyDatabase()
  })
  afterAll(() => rm(folder, { recursive: true }))

  const applySkipping = async (name: string, lines: readonly Line[]) => {
    const file = path.join(folder, name)
    const rejects = rejectsFile(file)
    const summary = await apply(database, lines, { rejects })
    return { file, summary }
  }

  test('writes rejected lines completely with their reasons, and applies the rest', async () => {
    const notUtf8 = Buffer.from([0x22, 0xff, 0x22])
    const bad = [marked({ score: 1 }), '{"kind":', notUtf8, JSON.stringify(mark(vaultB, soon, '1')), '{"kind":"trade"}']
    const { file, summary } = await applySkipping('some.ndjson', [...before, ...bad, after])
    expect(summary).toEqual({
      applied: { strategy: 1, screen: 1, vault: 1, event: 1, mark: 2 },
      skipped: {},
      rejected: { mark: 2, unreadable: 3 },
    })
    const entries = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    expect(entries).toEqual([
      { line: badLine, key: 'score', reason: 'is not a key of this kind of fact', text: bad[0] },
      { line: badLine + 1, key: null, reason: expect.stringMatching(/^the line is not JSON/) as string, text: bad[1] },
      { line: badLine + 2, key: null, reason: 'the line is not UTF-8', base64: notUtf8.toString('base64') },
      { line: badLine + 3, key: 'vault', reason: expect.stringMatching(/no fact has opened$/) as string, text: bad[3] },
      { line: badLine + 4, key: 'kind', reason: 'is "trade", which is no kind of fact', text: bad[4] },
    ])

    const withBad = await dump(database)
    await emptyDatabase()
    const blank = bad.map(() => '')
    await apply(database, [...before, ...blank, after])
    const { feed: _, ...rest } = withBad
    expect(await dump(database)).toMatchObject(rest)
  })

  test('rejects a fact whose results cannot be stored, and applies later ones', async () => {
    const vaultOfB = opened(vaultB, 'one')
    const large = [deposit(vaultB, soon, nines), deposit(vaultB, soon + 1, nines, nines)]
    const later = mark(vaultB, soon + 2, '5')
    const { file, summary } = await applySkipping('large.ndjson', [...before, vaultOfB, ...large, later])
    expect(summary).toMatchObject({ applied: { vault: 2, event: 2, mark: 2 }, rejected: { event: 1 } })
    const entry = JSON.parse(await readFile(file, 'utf8')) as unknown
    expect(entry).toMatchObject({ line: badLine + 2, key: 'amountUsd', text: JSON.stringify(large[1]) })
  })

  test('keeps a line of 10 MB, and marks where a longer one is truncated', async () => {
    const { file } = await applySkipping('long.ndjson', [ofSize(10_000_000), ofSize(40_000_000)])
    const [whole = '', cut = ''] = (await readFile(file, 'utf8')).split('\n')
    const first = JSON.parse(whole) as { text: string; cutFromBytes?: number }
    const second = JSON.parse(cut) as { text: string; cutFromBytes?: number }
    expect(first.text === ofSize(10_000_000)).toBe(true)
    expect(first.cutFromBytes).toBeUndefined()
    expect(second.text === ofSize(32 * 1024 * 1024)).toBe(true)
    expect(second.cutFromBytes).toBe(40_000_000)
  })

  test('creates no file where no line is bad', async () => {
    const { file, summary } = await applySkipping('none.ndjson', before)
    expect(summary.rejected).toEqual({})
    await expect(readFile(file)).rejects.toThrow('ENOENT')
  })
})
