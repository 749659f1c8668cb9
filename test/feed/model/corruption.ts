import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { pick } from './spelling.ts'

/** A bad line, and its wrong key; null where the whole line is wrong. */
export interface Corrupted {
  readonly bytes: Buffer
  readonly key: string | null
}

/** Corrupts the text of a fact, so that the line is bad after any earlier facts. */
export function corrupted(fact: FactInput, random: () => number): Corrupted {
  const text = JSON.stringify(fact)
  const ways = [...wholeLine(text, fact.ts === 9 ? 8 : 9), ...ofAnyFact(fact, text), ...ofKind(fact)]
  const [bad, key] = pick(random, ways)
  return { bytes: Buffer.isBuffer(bad) ? bad : Buffer.from(bad), key }
}

type Way = readonly [bad: string | Buffer, key: string | null]

/** @param otherTs a time other than that of the fact: a key that is repeated with the same value is valid */
function wholeLine(text: string, otherTs: number): Way[] {
  return [
    [text.slice(0, -1), null],
    [text.slice(0, text.length / 2), null],
    [`${text},`, null],
    [`[${text}]`, null],
    [`${text}${text}`, null],
    [JSON.stringify(text), null],
    ['null', null],
    ['0', null],
    ['-1.5e300', null],
    ['\u00a0', null],
    [text.replace('{', `{"ts":1,"ts":2,`), null],
    [text.replace('{', `{"\\u0074s":${otherTs},`), null],
    [text.replace(/"ts":\d+/, '"ts":01'), null],
    [text.replace(/"ts":\d+/, '"ts":NaN'), null],
    [text.replace(/"kind":"\w+"/, `"kind":'mark'`), null],
    [`${text}\0`, null],
    [Buffer.concat([Buffer.from(text.slice(0, 2)), Buffer.from([0xff]), Buffer.from(text.slice(2))]), null],
    [Buffer.from(text, 'utf16le'), null],
  ]
}

function ofAnyFact(fact: FactInput, text: string): Way[] {
  const number = (written: string): string => text.replace(/"ts":\d+/, `"ts":${written}`)
  return [
    ...Object.keys(fact)
      .filter((key) => !['amountUsd', 'chainId', 'fees', 'highWaterValueUsd', 'ticks'].includes(key))
      .map((key): Way => [JSON.stringify({ ...fact, [key]: undefined }), key]),
    ...Object.keys(fact).map((key): Way => [JSON.stringify({ ...fact, [key]: null }), key]),
    [altered(fact, { score: 1 }), 'score'],
    [altered(fact, { '': null }), ''],
    [altered(fact, { constructor: {} }), 'constructor'],
    [text.replace('{', '{"__proto__":{"ts":1},'), '__proto__'],
    [text.replace('{', '{"__pr\\u006fto__":1,'), '__proto__'],
    [altered(fact, { kind: 'Mark' }), 'kind'],
    [altered(fact, { kind: ['mark'] }), 'kind'],
    [altered(fact, { kind: 'toString' }), 'kind'],
    ...['-1', '1.5', '0.0', '1e3', '253402300800', '1e999', '"0"', 'true', '[]'].map((ts): Way => [number(ts), 'ts']),
  ]
}

function ofKind(fact: FactInput): Way[] {
  switch (fact.kind) {
    case 'strategy':
      return [
        ...badNames.map((id): Way => [altered(fact, { id }), 'id']),
        [altered(fact, { id: `0x${'0a'.repeat(20)}/x` }), 'id'],
        [altered(fact, { tagline: 'x'.repeat(10_001) }), 'tagline'],
      ]
    case 'screen':
      return [
        [altered(fact, { strategies: { a: [{ a: 'X', b: 'Y', venues: [], rank: 1 }] } }), 'strategies.a[0].rank'],
        [
          altered(fact, { pairs: [{ a: 'X', b: 'Y', venues: 'dex', tvlUsd: '1', emissions: true }] }),
          'pairs[0].venues',
        ],
        [
          altered(fact, { pairs: [{ a: 'X', b: 'Y', venues: [], tvlUsd: '-0.1', emissions: true }] }),
          'pairs[0].tvlUsd',
        ],
      ]
    case 'vault':
    case 'owner':
      return badAddresses.map((owner): Way => [altered(fact, { owner }), 'owner'])
    case 'mark':
      return [
        ...badAddresses.map((vault): Way => [altered(fact, { vault }), 'vault']),
        ...badUsd.map((valueUsd): Way => [altered(fact, { valueUsd }), 'valueUsd']),
        [altered(fact, { prices: { X: '1e2' } }), 'prices.X'],
        [altered(fact, { prices: { X: '9'.repeat(61) } }), 'prices.X'],
        [altered(fact, { positions: [{}] }), 'positions[0].id'],
      ]
    case 'event':
      return [
        ...badAddresses.map((vault): Way => [altered(fact, { vault }), 'vault']),
        [altered(fact, { txHash: `0x${'a'.repeat(63)}g` }), 'txHash'],
        [altered(fact, { logIndex: 2_147_483_648 }), 'logIndex'],
        [altered(fact, { logIndex: -1 }), 'logIndex'],
        [altered(fact, { block: 0 }).replace('"block":0', '"block":9007199254740992'), 'block'],
        [altered(fact, { type: 'Deposit' }), 'type'],
        [altered(fact, { type: 'constructor' }), 'type'],
      ]
  }
}

function altered(fact: FactInput, changes: Record<string, unknown>): string {
  return JSON.stringify({ ...fact, ...changes })
}

const badNames = ['', 'x'.repeat(201), 'a\0b', '\ud800', 'a\udfff', `0x${'0a'.repeat(20)}`]
const badAddresses = [
  '',
  '0x',
  `0x${'ab'.repeat(19)}`,
  `0X${'ab'.repeat(20)}`,
  `0x${'ab'.repeat(19)}aB`,
  7,
  ['0x'],
  ` 0x${'ab'.repeat(20)}`,
]
const badUsd = [
  '-1',
  '-0.000001',
  '1.0000001',
  '1'.repeat(33),
  '',
  ' 1',
  '1 ',
  '+1',
  '.5',
  '5.',
  '1e3',
  '0x10',
  'NaN',
  '١',
  '1,5',
  1.0000001,
  true,
  {},
  ['1'],
]
