import { expect, onTestFinished, test, vi } from 'vitest'
import { heapBytes } from '../../support/heap.ts'
import { OperationCache } from '../../../src/graphql/execution/operation-cache.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { defaultQueryLimits, operationCacheLimits } from '../../../src/limits.ts'

const sender = 'sender'
const fields = Array.from({ length: 190 }, (_, at) => `a${at}: name`).join(' ')
const documentOf = (salt: number): string => `{ strategies { ${fields} } } # ${salt}`

function compiled(cache: OperationCache, salt: number): void {
  expect(cache.prepare(documentOf(salt), sender).select(null)?.compiledFor({})).toHaveProperty('write')
}

test('the weight of a document includes its compiled fields, and the cache stores as many as fit', () => {
  const cache = new OperationCache(schema, { ...defaultQueryLimits, aliases: 1_000 })
  const { fieldBytes, tokenBytes, usedOnceBytes } = operationCacheLimits
  // Three tokens of each field, and a few more.
  const fitting = Math.floor(usedOnceBytes / (190 * (3 * tokenBytes + fieldBytes)))
  const salts = Array.from({ length: 2 * fitting }, (_, salt) => salt)
  for (const salt of salts) compiled(cache, salt)
  const kept = salts.filter((salt) => cache.get(documentOf(salt), sender) !== undefined)
  expect(kept.length).toBeLessThanOrEqual(fitting)
  expect(kept.length).toBeGreaterThan(fitting / 2)
  expect(kept.at(-1)).toBe(salts.at(-1))
})

test('documents that are used once evict neither one that was used again nor those of the gateway', () => {
  const cache = new OperationCache(schema, { ...defaultQueryLimits, aliases: 1_000 })
  const own = cache.fixed('{ strategies { id } }')
  compiled(cache, 0)
  const again = cache.get(documentOf(0), sender)
  for (let salt = 1; salt < 400; salt++) compiled(cache, salt)
  expect(cache.get(documentOf(0), sender)).toBe(again)
  expect(cache.get(documentOf(1), sender)).toBeUndefined()
  expect(cache.fixed('{ strategies { id } }')).toBe(own)
})

test('documents that are used again are limited in memory too', () => {
  const cache = new OperationCache(schema, { ...defaultQueryLimits, aliases: 1_000 })
  const { fieldBytes, tokenBytes, bytes } = operationCacheLimits
  const fitting = Math.floor(bytes / (190 * (3 * tokenBytes + fieldBytes)))
  const salts = Array.from({ length: 2 * fitting }, (_, salt) => salt)
  for (const salt of salts) {
    compiled(cache, salt)
    cache.get(documentOf(salt), sender)
  }
  const kept = salts.filter((salt) => cache.get(documentOf(salt), sender) !== undefined)
  expect(kept.length).toBeLessThanOrEqual(fitting)
  expect(kept.length).toBeGreaterThan(fitting / 2)
})

test('documents of one client evict none of another, used once or again', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const cache = new OperationCache(schema, { ...defaultQueryLimits, aliases: 1_000 })
  const own = ['{ strategies { id } }', '{ strategies { name } }', '{ universe { pairs { name } } }'] as const
  for (const text of own) cache.prepare(text, sender)
  cache.get(own[0], sender)
  cache.get(own[1], 'greedy')
  const fitting = operationCacheLimits.bytes / operationCacheLimits.tokenBytes / (3 * 190)
  for (let salt = 0; salt < 2 * fitting; salt++) {
    cache.prepare(documentOf(salt), 'greedy')
    cache.get(documentOf(salt), 'greedy')
    cache.prepare(documentOf(-1 - salt), 'greedy')
  }
  expect(own.filter((text) => cache.get(text, sender) !== undefined)).toEqual(own)
})

test('a document that is a substring of a long text does not retain that text', () => {
  const cache = new OperationCache(schema, defaultQueryLimits)
  const before = heapBytes()
  for (let salt = 0; salt < 200; salt++)
    cache.prepare(`{ a${10_000 + salt}: __typename }${'x'.repeat(100_000)}`.slice(0, 22), sender)
  expect(heapBytes() - before).toBeLessThan(10_000_000)
})

/**
 * A document of few tokens, whose merged selections have some 10 * 2 ** levels fields: a field that is selected twice is
 * compiled separately in each place.
 */
function merging(levels: number): string {
  const fragments = Array.from({ length: levels }, (_, level) => {
    const vault = `{ address strategy { ...S${level + 1} } strategy { name } }`
    const twice = (field: string): string => `${field} ${vault} ${field} { address }`
    const page = `{ ${twice('nodes')} edges { ${twice('node')} } edges { cursor } }`
    return `fragment S${level} on Strategy { vaults ${page} vaults { totalCount } }`
  })
  return `{ strategies { ...S0 } } ${fragments.join(' ')} fragment S${levels} on Strategy { id }`
}

test('an operation whose merged selections have too many fields is not compiled', () => {
  const cache = new OperationCache(schema, { ...defaultQueryLimits, depth: 100, cost: Infinity })
  const few = cache.prepare(merging(3), sender).select(null)
  expect(few?.compiledFor({})).toHaveProperty('write')
  expect(few?.compiledFields).toBeGreaterThan(40)
  const many = cache.prepare(merging(9), sender).select(null)
  expect(many?.compiledFor({})).toBeNull()
  expect(many?.compiledFields).toBe(1)
})

test('an operation is compiled for a limited number of combinations of its conditions', () => {
  const cache = new OperationCache(schema, defaultQueryLimits)
  const names = ['a', 'b', 'c', 'd']
  const fields = names.map((name) => `${name}: name @include(if: $${name})`)
  const text = `query (${names.map((name) => `$${name}: Boolean!`).join(' ')}) { strategies { id ${fields.join(' ')} } }`
  const operation = cache.prepare(text, sender).select(null)
  const combinations = Array.from({ length: 16 }, (_, bits) =>
    Object.fromEntries(names.map((name, at) => [name, ((bits >> at) & 1) === 1])),
  )
  const isCompiled = (): boolean[] => combinations.map((variables) => operation?.compiledFor(variables) !== 'no place')
  const expected = combinations.map((_, at) => at < operationCacheLimits.variants)
  expect([isCompiled(), isCompiled()]).toEqual([expected, expected])
})

test.each([
  ['many characters', 'x'.repeat(defaultQueryLimits.bytes - 1_000)],
  ['one long comment', `{ strategies { id } } #${'x'.repeat(defaultQueryLimits.bytes / 2)}`],
])('texts of %s evict no other documents', (_, long) => {
  const cache = new OperationCache(schema, defaultQueryLimits)
  const usual = Array.from({ length: 20 }, (_, salt) => `{ strategies { a${salt}: id } }`)
  for (const text of usual) cache.prepare(text, sender)
  for (let salt = 0; salt < 10; salt++) {
    cache.prepare(`${long}${salt}`, sender)
    cache.get(`${long}${salt}`, sender)
  }
  expect(usual.filter((text) => cache.get(text, sender) !== undefined)).toEqual(usual)
})

test('an operation has variants by its conditions, and not by other variables of the same name', () => {
  const cache = new OperationCache(schema, defaultQueryLimits)
  const conditional = 'query A($a: Boolean!) { strategies @include(if: $a) { id } }'
  const ofId = 'query B($a: ID!) { strategy(id: $a) { id } }'
  const ofWhere = 'query C($a: VaultWhere = { venue: ["x"] }) { vaults(where: $a) { totalCount } }'
  const document = cache.prepare([conditional, ofId, ofWhere].join(' '), sender)
  const compiled = Array.from({ length: 20 }, (_, at) => document.select('B')?.compiledFor({ a: 'x'.repeat(at) }))
  expect(compiled[0]).toHaveProperty('write')
  expect(new Set(compiled)).toHaveLength(1)
  const where = document.select('C')?.coerce({}).coerced ?? {}
  expect(document.select('C')?.compiledFor(where)).toHaveProperty('write')
  expect(document.select('A')?.compiledFor({ a: true })).not.toBe(document.select('A')?.compiledFor({ a: false }))
})

test('the weight of invalid documents includes their errors, which hold parts of them', () => {
  const cache = new OperationCache(schema, defaultQueryLimits)
  const { usedOnceBytes, errorBytes } = operationCacheLimits
  const fitting = Math.floor(usedOnceBytes / errorBytes)
  const invalid = Array.from({ length: 2 * fitting }, (_, salt) => `{ nothing${salt} }`)
  for (const text of invalid) cache.prepare(text, sender)
  const kept = invalid.filter((text) => cache.get(text, sender) !== undefined)
  expect(kept.length).toBeLessThanOrEqual(fitting)
  expect(kept.length).toBeGreaterThan(fitting / 2)
})
