import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BadFact } from '../../../src/feed/errors.ts'
import { formatValue } from '../../../src/feed/fact/format-value.ts'
import { checkFact, parseFact } from '../../../src/feed/fact/parse.ts'
import { deposit, event, mark, midnight, opened, position, strategy, vaultA } from '../../support/world.ts'

const asset = { symbol: 'WETH', name: 'Ether', category: 'major', venues: ['aerodrome'], liquidityUsd: '1.5' }
const pair = { a: 'WETH', b: 'USDC', venues: ['aerodrome'], tvlUsd: '2.5', emissions: true }
const live = { a: 'WETH', b: 'USDC', venues: ['aerodrome'] }
const first = { ...position('first'), ticks: { lower: -10, upper: 10, current: 0 } }
const fees = { contributedUsd: '1', withdrawnUsd: '2', taxedUsd: '3', highWaterUsd: '4' }
const unit = { USDC: '1' }

/** A valid fact of each kind, and one of each type of event. */
const good = {
  strategy: strategy('core'),
  screen: { kind: 'screen', ts: midnight, assets: [asset], pairs: [pair], strategies: { core: [live] } },
  vault: opened(vaultA, 'core'),
  mark: mark(vaultA, midnight, '100', { positions: [first, position('second')], fees }),
  deposit: deposit(vaultA, midnight, '100'),
  withdraw: event(vaultA, midnight, { type: 'withdraw', amountUsd: '1', valueBeforeUsd: '2', prices: unit }),
  plant: event(vaultA, midnight, { type: 'plant', positionId: 'first' }),
  exit: event(vaultA, midnight, { type: 'exit', positionId: 'first' }),
  rebalance: event(vaultA, midnight, { type: 'rebalance', positionId: 'first' }),
  harvest: event(vaultA, midnight, { type: 'harvest', positionId: 'first', amountUsd: '1.25' }),
  fee: event(vaultA, midnight, { type: 'fee', amountUsd: '1.25' }),
  suspend: event(vaultA, midnight, { type: 'suspend', reason: 'an oracle strays' }),
  resume: event(vaultA, midnight, { type: 'resume' }),
} as const
type Name = keyof typeof good

/** Optional keys of facts. */
const optional: readonly string[] = ['mark.fees', 'mark.positions[0].ticks', 'harvest.amountUsd']

/** Matches the start of the project's own messages, as opposed to those of a library. */
const inWords = /^(is |has |holds |the line |".* is not an address)/s

const zeros = '0'.repeat(100_000)

type Path = readonly (string | number)[]

function issueOf(line: string | Uint8Array) {
  const parsed = parseFact(Buffer.from(line))
  return parsed.ok ? null : parsed.issue
}

/** Returns the line of a fact with the value at a path replaced, or removed where the new value is undefined. */
function lineWith(fact: unknown, path: Path, value: unknown): string {
  return JSON.stringify(replaceAt(fact, path, value))
}

function replaceAt(within: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  const copy = structuredClone(within) as Record<string | number, unknown>
  copy[step] = replaceAt(copy[step], rest, value)
  return copy
}

/** Parses a path such as `positions[0].range.lower`. */
function pathOf(key: string): Path {
  return key
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

/** Returns the paths of all keys of a fact, without the symbols of prices and the ids of strategies. */
function keysOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => keysOf(item, `${path}[${index}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([step, inner]) => {
    const key = path === '' ? step : `${path}.${step}`
    const isNamed = path === 'prices' || path === 'strategies'
    return isNamed ? keysOf(inner, key) : [key, ...keysOf(inner, key)]
  })
}

const names = Object.keys(good) as Name[]
const keys = names.flatMap((name) => keysOf(good[name]).map((key) => [name, key] as const))

describe('a fact', () => {
  test.each(names)('of the kind of %s is read', (name) => {
    expect(parseFact(Buffer.from(JSON.stringify(good[name])))).toMatchObject({ ok: true })
    expect(checkFact(good[name])).toMatchObject({ ok: true, fact: { kind: good[name].kind, ts: midnight } })
  })

  test.each(keys)('%s is read without its %s only where that is optional', (name, key) => {
    const missing = optional.includes(`${name}.${key}`) ? null : { key, reason: 'is missing' }
    expect(issueOf(lineWith(good[name], pathOf(key), undefined))).toEqual(missing)
  })

  test.each(keys)('%s with null for %s is refused, and names it', (name, key) => {
    expect(issueOf(lineWith(good[name], pathOf(key), null))).toMatchObject({
      key,
      reason: expect.stringMatching(
        /^is null, (not (an? |"\w+"|[\w "]+)|which is no (kind of fact|type of event))/,
      ) as string,
    })
  })

  test.each([
    ...names.map((name) => [name, 'score'] as const),
    ['deposit', 'assets[0].score'],
    ['screen', 'assets[0].score'],
    ['screen', 'assets[0].rank'],
    ['screen', 'pairs[0].weight'],
    ['screen', 'strategies.core[0].score'],
    ['mark', 'fees.score'],
    ['mark', 'positions[0].score'],
    ['mark', 'positions[0].pool.score'],
    ['mark', 'positions[0].range.score'],
    ['mark', 'positions[0].ticks.score'],
    ['resume', 'positionId'],
    ['plant', 'amountUsd'],
    ['withdraw', 'assets'],
    ['mark', '__proto__'],
    ['mark', 'toString'],
  ] as const)('%s with the unknown key %s is refused, and names it', (name, key) => {
    // Written by hand, since a copy of an object would take __proto__ for its prototype.
    const line = lineWith(good[name], pathOf(key.replace('__proto__', 'proto')), 1).replace('"proto"', '"__proto__"')
    expect(issueOf(line)).toEqual({ key, reason: 'is not a key of this kind of fact' })
  })

  test.each([
    ['prices', '"__proto__"'],
    ['prices', '"__pr\\u006fto__"'],
  ] as const)('a mark whose %s have the key %s is refused, and names it', (name, key) => {
    const line = lineWith(good.mark, pathOf(`${name}.proto`), '1').replace('"proto"', key)
    expect(issueOf(line)).toEqual({ key: '__proto__', reason: 'is not a key of this kind of fact' })
  })

  test('a value may equal a forbidden key', () => {
    expect(issueOf(lineWith(good.strategy, pathOf('tagline'), '__proto__'))).toBeNull()
  })

  test.each(['-0', '"-0"', '-0.0', '"-0.0"', '-0e5', '-0.000000E-3'])('an amount of %s is 0', (written) => {
    const line = (value: string): string => lineWith(good.mark, ['valueUsd'], 'amount').replace('"amount"', value)
    const zero = parseFact(Buffer.from(line('"0"')))
    expect(zero).toMatchObject({ ok: true })
    expect(parseFact(Buffer.from(line(written)))).toEqual(zero)
  })

  test.each<[Name, string, unknown, string]>([
    ['mark', 'kind', 'Mark', 'is "Mark", which is no kind of fact'],
    ['mark', 'kind', 7, 'is 7, which is no kind of fact'],
    ['deposit', 'type', 'swap', 'is "swap", which is no type of event'],
    ['mark', 'ts', '1700000000', 'is a string, not a whole number'],
    ['mark', 'ts', 1.5, 'is 1.5, not a whole number'],
    ['mark', 'ts', -1, 'is -1, less than 0'],
    ['mark', 'valueUsd', '-0.000001', 'is -0.000001, less than 0'],
    ['mark', 'valueUsd', '-0.0000000', 'is -0.0000000, which has more than 6 decimals'],
    ['mark', 'ts', 1_700_000_000_000, 'is 1700000000000, more than 253402300799'],
    ['mark', 'ts', true, 'is a boolean, not a whole number'],
    ['deposit', 'block', -1, 'is -1, less than 0'],
    ['deposit', 'block', 2 ** 53, 'is 9007199254740992, more than 9007199254740991'],
    ['deposit', 'block', -(2 ** 53), 'is -9007199254740992, less than -9007199254740991'],
    ['mark', 'vault', 2 ** 53, 'is 9007199254740992, not a string'],
    ['deposit', 'logIndex', 2_147_483_648, 'is 2147483648, more than 2147483647'],
    ['deposit', 'txHash', '0x12', 'is not 0x and 64 hex digits'],
    ['mark', 'vault', 'home', '"home" is not an address: it is not 0x and 40 hex digits'],
    [
      'vault',
      'owner',
      `0x${'aB'.repeat(20)}`,
      `"0x${'aB'.repeat(20)}" is not an address: its EIP-55 checksum is wrong`,
    ],
    ['vault', 'owner', 5, 'is a number, not a string'],
    ['vault', 'strategy', '', 'is empty'],
    ['vault', 'strategy', 'x'.repeat(201), 'has more than 200 characters'],
    ['strategy', 'name', ['core'], 'is an array, not a string'],
    ['strategy', 'tagline', { text: 'a' }, 'is an object, not a string'],
    ['strategy', 'description', 'x'.repeat(10_001), 'has more than 10000 characters'],
    ['suspend', 'reason', 'a\0b', 'holds a NUL or half a surrogate pair'],
    ['suspend', 'reason', '\ud800', 'holds a NUL or half a surrogate pair'],
    ['mark', 'prices', [], 'is an array, not an object'],
    ['mark', 'prices.USDC', 'one', 'is "one", not a decimal such as "1234.5"'],
    ['mark', 'prices.USDC', '0.1234567890123456789', 'is 0.1234567890123456789, which has more than 18 decimals'],
    ['mark', 'prices.USDC', '-1', 'is -1, less than 0'],
    ['mark', 'positions', {}, 'is an object, not an array'],
    ['mark', 'positions[0].id', 'second', ''],
    ['mark', 'positions[1].id', 'first', 'is that of another position too'],
    ['mark', 'positions[0].range.lower', '110.1', 'is above upper'],
    ['mark', 'positions[0].ticks.lower', 11, 'is above upper'],
    ['mark', 'positions[0].ticks.current', 0.5, 'is 0.5, not a whole number'],
    ['mark', 'positions[0].pool.feeTier', 1_000_001, 'is 1000001, more than 1000000'],
    ['mark', 'positions[0].pendingRewardsUsd', '', 'is "", not a decimal such as "1234.5"'],
    ['mark', 'fees.taxedUsd', '0x10', 'is "0x10", not a decimal such as "1234.5"'],
    ['mark', 'valueUsd', ' 1', 'is " 1", not a decimal such as "1234.5"'],
    ['mark', 'valueUsd', '1e3', 'is "1e3", not a decimal such as "1234.5"'],
    ['mark', 'valueUsd', '1,000', 'is "1,000", not a decimal such as "1234.5"'],
    ['mark', 'valueUsd', true, 'is true, not a decimal such as "1234.5"'],
    ['mark', 'valueUsd', -0.5, 'is -0.5, less than 0'],
    ['mark', 'valueUsd', '0.0000001', 'is 0.0000001, which has more than 6 decimals'],
    ['mark', 'valueUsd', '1.0000000', 'is 1.0000000, which has more than 6 decimals'],
    ['mark', 'valueUsd', `1${'0'.repeat(32)}`, `is 1${'0'.repeat(32)}, which has more than 32 digits before the point`],
    ['mark', 'valueUsd', '1'.repeat(121), 'has more than 120 characters'],
    [
      'deposit',
      'assets[0].amount',
      '0.1234567890123456789',
      'is 0.1234567890123456789, which has more than 18 decimals',
    ],
    ['deposit', 'amountUsd', '1.2345678', 'is 1.2345678, which has more than 6 decimals'],
    ['screen', 'assets[0].category', 'stock', 'is "stock", not "major" or "stable" or "stock token" or "meme"'],
    ['screen', 'assets[1]', asset, 'symbol is that of another asset too'],
    ['screen', 'assets[0].venues[0]', 3, 'is a number, not a string'],
    ['screen', 'pairs[0].emissions', 'yes', 'is a string, not a boolean'],
    ['screen', 'strategies', null, 'is null, not an object'],
    ['screen', 'strategies.core', live, 'is an object, not an array'],
  ])('%s with a wrong %s (%j) is refused: %s', (name, key, value, reason) => {
    const issue = issueOf(lineWith(good[name], pathOf(key), value))
    expect(`${issue?.key ?? ''} ${issue?.reason ?? ''}`).toBe(expectedIssue(key, reason))
  })

  /** Returns the expected issue, which names the second of two equal items, or its key where the item is the whole value. */
  function expectedIssue(key: string, reason: string): string {
    if (reason === '') return 'positions[1].id is that of another position too'
    return reason.startsWith('symbol') ? `${key}.${reason}` : `${key} ${reason}`
  }
})

describe('the id of a strategy', () => {
  const digits = vaultA.slice(2)
  const issueOfId = (id: string) => issueOf(lineWith(good.strategy, ['id'], id))

  test.each([
    vaultA,
    `0X${digits}`,
    `0x${digits.toUpperCase()}`,
    `0x${'aB'.repeat(20)}`,
    `${vaultA}/`,
    `${vaultA}/position/1`,
    `0X${digits.toUpperCase()}/event/core`,
  ])('may not be %s, which has the form of the id of a vault or of what belongs to one', (id) => {
    const reason =
      `is ${formatValue(id)}, which has the form of the id of a vault, a position or a ledger row: ` +
      "a strategy's id is no address, and does not begin with one and a slash"
    expect(issueOfId(id)).toEqual({ key: 'id', reason })
  })

  test.each([digits, '0x', vaultA.slice(0, -1), `${vaultA}0`, `${vaultA}-core`, `core/${vaultA}`, 'core/position/1'])(
    'may be %s, which has none of these forms',
    (id) => {
      expect(issueOfId(id)).toBeNull()
    },
  )
})

describe('a line', () => {
  test.each([
    ['[]', 'the line is not a JSON object'],
    ['null', 'the line is not a JSON object'],
    ['"mark"', 'the line is not a JSON object'],
    ['12.5', 'the line is not a JSON object'],
    ['12', 'the line is not a JSON object'],
  ])('that holds %s is no fact', (line, reason) => {
    expect(issueOf(line)).toEqual({ key: null, reason })
  })

  test.each([
    '{"kind":"mark"',
    '{kind:"mark"}',
    "{'kind':1}",
    '{} {}',
    'mark',
    '{"a":1,"a":2}',
    '{"ts":01}',
    '{"ts":NaN}',
  ])('that holds %s is no JSON', (line) => {
    expect(issueOf(line)).toMatchObject({
      key: null,
      reason: expect.stringMatching(/^the line is not JSON: ./) as string,
    })
  })

  test('that is not UTF-8 has an error with this reason', () => {
    const bytes = Buffer.from(JSON.stringify({ ...good.suspend, reason: 'é' }))
    const latin1 = Buffer.from(JSON.stringify({ ...good.suspend, reason: 'é' }), 'latin1')
    expect(issueOf(bytes)).toBeNull()
    expect(issueOf(latin1)).toEqual({ key: null, reason: 'the line is not UTF-8' })
  })

  test.each([
    ['a negative number', lineWith(good.mark, ['valueUsd'], 0).replace('"valueUsd":0', `"valueUsd":-1${zeros}`)],
    ['a time', lineWith(good.mark, ['ts'], 0).replace('"ts":0', `"ts":1${zeros}`)],
    ['a kind', `{"kind":1${zeros}}`],
    ['an unknown key', lineWith(good.mark, [`k${zeros}`], 1)],
    ['a symbol', lineWith(good.mark, ['prices', `k${zeros}`], '1')],
    ['a key that occurs twice', `{"k${zeros}":1,"k${zeros}":2}`],
  ])('with %s of any length has a short error', (_, line) => {
    const { key, reason } = issueOf(line) ?? {}
    expect(reason).toMatch(inWords)
    expect(`${key} ${reason}`.length).toBeLessThan(600)
  })

  test.each(['[', '{"a":'])('with too many nested %s has an error with this reason', (opening) => {
    const closing = opening === '[' ? ']' : '}'
    const line = `${opening.repeat(200_000)}1${closing.repeat(200_000)}`
    expect(issueOf(line)).toEqual({ key: null, reason: 'the line has too many arrays or objects inside each other' })
  })

  test('with a number for its kind has the number in its error', () => {
    expect(issueOf('{"kind":1.50}')).toEqual({ key: 'kind', reason: 'is 1.50, which is no kind of fact' })
  })

  test('with a control character in a key has an error without control characters', () => {
    const issue = issueOf(lineWith(good.mark, ['prices', '\u001b[2J\n\u009b\u202e'], 'x'))
    const { message } = new BadFact('feed', 1, issue?.key ?? null, issue?.reason ?? '')
    expect(message).toBe('feed, line 1: prices.\\u001b[2J\\u000a\\u009b\\u202e is "x", not a decimal such as "1234.5"')
  })

  test('of any bytes or any JSON is a fact or has a readable error', () => {
    const bytes = fc.oneof(
      fc.uint8Array().map((list) => Buffer.from(list)),
      fc.json().map((json) => Buffer.from(json)),
      fc
        .tuple(fc.constantFrom(...keys), fc.jsonValue())
        .map(([[name, key], value]) => Buffer.from(lineWith(good[name], pathOf(key), value))),
    )
    fc.assert(
      fc.property(bytes, (line) => {
        const issue = issueOf(line)
        if (issue !== null) expect(issue.reason).toMatch(inWords)
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['mark', 'prices', '', '1'],
    ['mark', 'prices', 'x'.repeat(201), '1'],
    ['mark', 'prices', 'a\0b', '1'],
    ['screen', 'strategies', '', []],
  ] as const)('of a %s whose %s are by a bad name, %j, is refused in words', (name, key, bad, value) => {
    const issue = issueOf(lineWith(good[name], [key], { [bad]: value }))
    expect(issue?.key).toMatch(new RegExp(`^${key}`))
    expect(issue?.reason).toMatch(inWords)
  })

  test.each([1_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 100_000])(
    'nested %i deep is refused like any other',
    (depth) => {
      const nest = '['.repeat(depth) + ']'.repeat(depth)
      const line = JSON.stringify(good.mark).replace('"100"', nest)
      expect(issueOf(line)).not.toBeNull()
      expect(issueOf(`{"kind":${nest}}`)).not.toBeNull()
    },
  )
})

describe('an amount', () => {
  const digits = (least: number, most: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: most })
  const amount = fc
    .tuple(digits(1, 32), digits(0, 6))
    .map(([whole, fraction]) => `${BigInt(whole)}${fraction === '' ? '' : `.${fraction}`}`)

  test('is read exactly from its digits, as a string or as a number', () => {
    fc.assert(
      fc.property(amount, (text) => {
        const line = JSON.stringify(good.mark)
        for (const written of [`"${text}"`, text, `${text}e0`, `${text}E+0`]) {
          const parsed = parseFact(Buffer.from(line.replace('"valueUsd":"100"', `"valueUsd":${written}`)))
          const expected = text.includes('.') ? text.replace(/\.?0+$/, '') : text
          expect(parsed.ok && parsed.fact.kind === 'mark' ? parsed.fact.valueUsd.toFixed() : parsed).toBe(expected)
        }
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    '1e32',
    '1e99999',
    '1e9999999999999999999',
    '1E+99999999999999999999999',
    '1e-7',
    '1e-99999',
    '1e-9999999999999999999',
  ])('of %s is refused, however large its exponent', (text) => {
    const line = JSON.stringify(good.mark).replace('"valueUsd":"100"', `"valueUsd":${text}`)
    expect(issueOf(line)).toMatchObject({
      key: 'valueUsd',
      reason: expect.stringMatching(/^is .*, which has more than (6 decimals|32 digits before the point)$/) as string,
    })
  })

  test('in hex of any case is normalized to one case', () => {
    const txHash = `0x${'aBcDeF01'.repeat(8)}`
    const parsed = checkFact({ ...good.resume, vault: vaultA.toUpperCase().replace('0X', '0x'), txHash })
    expect(parsed).toMatchObject({ ok: true, fact: { txHash: txHash.toLowerCase() } })
    expect(parsed.ok && 'vault' in parsed.fact && parsed.fact.vault.toLowerCase()).toBe(vaultA)
  })
})
