import { expect, test } from 'vitest'
import { heapBytes } from '../../support/heap.ts'
import { OperationCache } from '../../../src/graphql/execution/operation-cache.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { defaultQueryLimits, operationCacheLimits } from '../../../src/limits.ts'

const fields = Array.from({ length: 190 }, (_, at) => `a${at}: name`).join(' ')
const documentOf = (salt: number): string => `{ strategies { ${fields} } } # ${salt}`

function compiled(cache: OperationCache, salt: number): void {
  expect(cache.prepare(documentOf(salt)).select(null)?.compiledFor({})).toBeTruthy()
}

test('a document is weighed with its compiled fields, and as many are kept as fit', () => {
  const cache = new OperationCache(schema, { ...defaultQueryLimits, aliases: 1_000 })
  const { characterBytes, fieldBytes, bytes } = operationCacheLimits
  const fitting = Math.floor(bytes / (documentOf(0).length * characterBytes + 190 * fieldBytes))
  const salts = Array.from({ length: 2 * fitting }, (_, salt) => salt)
  for (const salt of salts) compiled(cache, salt)
  const kept = salts.filter((salt) => cache.get(documentOf(salt)) !== undefined)
  expect(kept.length).toBeLessThanOrEqual(fitting)
  expect(kept.length).toBeGreaterThan(fitting / 2)
  expect(kept.at(-1)).toBe(salts.at(-1))
})

test('a document that was cut from a long text does not keep that text', () => {
  const cache = new OperationCache(schema, defaultQueryLimits)
  const before = heapBytes()
  for (let salt = 0; salt < 200; salt++)
    cache.prepare(`{ a${10_000 + salt}: __typename }${'x'.repeat(100_000)}`.slice(0, 22))
  expect(heapBytes() - before).toBeLessThan(10_000_000)
})
