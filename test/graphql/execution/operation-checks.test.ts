import { expect, test, vi } from 'vitest'
import type { AdmissionControl } from '../../../src/graphql/execution/admission/admission-control.ts'
import { CountedLists } from '../../../src/graphql/execution/cost/list-counts.ts'
import { OperationCache } from '../../../src/graphql/execution/operation-cache.ts'
import { OperationChecks } from '../../../src/graphql/execution/operation-checks.ts'
import { PreparedOperation } from '../../../src/graphql/execution/prepared-operation.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { defaultQueryLimits as limits } from '../../../src/limits.ts'
import { addressOf } from '../../support/world.ts'

const requestContext = { sender: 'one', report: () => 'id' }
const ids = Array.from({ length: 860 }, (_, at) => `${addressOf(at)}@1`)
const aliases = Array.from({ length: 45 }, (_, at) => `a${at}: nodes(ids: $ids) { id }`)
const query = `query ($ids: [ID!]!) { ${aliases.join(' ')} }`

test('many variables are coerced and priced in a turn of preparation', async () => {
  const turn = { isNow: false, count: 0 }
  const calls: boolean[] = []
  const runPreparation: AdmissionControl['runPreparation'] = async (work) => {
    Object.assign(turn, { isNow: true, count: turn.count + 1 })
    const result = work()
    turn.isNow = false
    return result
  }
  const price = vi.spyOn(PreparedOperation.prototype, 'costOf').mockImplementation(() => {
    calls.push(turn.isNow)
    return { units: limits.cost + 1, mostExpensive: [], hasLongReads: false }
  })
  try {
    const prepared = new OperationCache(schema, limits).prepare(query, 'one')
    const checked = await new OperationChecks(limits, { runPreparation }).check(
      prepared,
      { variables: { ids } },
      requestContext,
      limits.cost,
    )
    expect(checked.errors).toMatchObject([{ extensions: { code: 'QUERY_OVER_BOUND', bound: 'cost' } }])
    expect([turn.count, calls]).toEqual([1, [true]])
  } finally {
    price.mockRestore()
  }
})

test('a list that many fields have as an argument is counted once', () => {
  let reads = 0
  const list = new Proxy([...ids], {
    get(target, key, receiver): unknown {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++
      return Reflect.get(target, key, receiver)
    },
  })
  const lists = new CountedLists()
  const counts = lists.of(list)
  expect(counts).toEqual({ distinct: 860, moments: 860, elements: 860 })
  const once = reads
  for (let field = 0; field < 45; field++) {
    expect(lists.of(list)).toBe(counts)
    expect(lists.elementsIn({ ids: list, where: { owner: list } })).toBe(2 * 860)
  }
  expect(reads).toBe(once)
  const operation = new OperationCache(schema, limits).prepare(query, 'one').select(null)
  expect(operation?.costOf({ ids: list }).units).toBeGreaterThan(45 * 860)
  expect(reads).toBeLessThanOrEqual(2 * once)
})
