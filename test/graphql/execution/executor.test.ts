import { describe, expect, test, vi } from 'vitest'
import type { AdmissionControl, Ticket } from '../../../src/graphql/execution/admission/admission-control.ts'
import { JsonText } from '../../../src/graphql/execution/compiler/json-text.ts'
import { createExecutor } from '../../../src/graphql/execution/executor.ts'
import { FallbackQueue } from '../../../src/graphql/execution/admission/fallback-queue.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { admissionLimits, defaultQueryLimits, operationCacheLimits, preparationCosts } from '../../../src/limits.ts'
import { subscriptionLimits } from '../../../src/limits/live.ts'
import { tooManyFields, withTooManyFields } from '../../support/not-compilable.ts'

type Kind = Exclude<keyof AdmissionControl, 'pause'>

/** Returns an executor whose operations do not run, and the admission requests. */
function recording() {
  const admissions: ({ readonly kind: Kind } & Ticket)[] = []
  const admit =
    (kind: Kind): AdmissionControl['run'] =>
    async (work, { cost, hasLongReads, sender }) => {
      admissions.push({ kind, cost, ...(kind === 'run' && { hasLongReads }), sender })
      return work()
    }
  const admission = {
    run: admit('run'),
    runPreparation: admit('runPreparation'),
    pause: () => Promise.resolve(),
  }
  const runConsistently = (): Promise<never> => Promise.resolve({ data: {} } as never)
  const executor = createExecutor({ schema, limits: defaultQueryLimits, admission, runConsistently })
  return { executor, admission, asked: admissions }
}

const requestContext = { report: String, sender: 'one' }

/** Returns a page of vaults: each costs as much as its number of fields. */
const page =
  'query ($first: Int!) { vaults(first: $first) { nodes { address positions { inRange } events(first: 20) { nodes { ts } } } } }'

test('an operation is admitted by its cost, for its sender', async () => {
  const { executor, asked } = recording()
  const prepared = await executor.prepare(page, requestContext)
  for (let first = 1; first <= 200; first++) {
    expect(await executor.run(prepared, { variables: { first } }, requestContext)).not.toHaveProperty('errors')
  }
  const [preparation, ...operations] = asked
  expect(preparation?.kind).toBe('runPreparation')
  expect(operations).toHaveLength(200)
  const [operation] = prepared.operations
  operations.forEach((one, index) => {
    expect(one).toEqual({
      kind: 'run',
      cost: operation?.costOf({ first: index + 1 }).units,
      hasLongReads: false,
      sender: 'one',
    })
  })
  expect(new Set(operations.map(({ cost }) => cost)).size).toBe(200)
})

test('results have the limit that applies to their cost: another one for events', async () => {
  const { executor } = recording()
  const query = await executor.prepare('{ __typename }', requestContext)
  const subscription = await executor.prepare('subscription { ledger { __typename } }', requestContext)
  const results = [
    await executor.run(query, {}, requestContext),
    await executor.run(subscription, { event: { value: {} } }, requestContext),
  ]
  const limits = results.map(({ extensions }) => (extensions as { cost: { most: number } }).cost.most)
  expect(limits).toEqual([defaultQueryLimits.cost, subscriptionLimits.cost])
})

test('the cost of an operation with variables is computed once in each run', async () => {
  const { executor } = recording()
  const prepared = await executor.prepare(page, requestContext)
  const [operation] = prepared.operations
  if (operation === undefined) throw new Error('There is no operation.')
  const costOf = vi.spyOn(operation, 'costOf')
  await executor.run(prepared, { variables: { first: 7 } }, requestContext)
  expect(costOf).toHaveBeenCalledTimes(1)
})

test('a document is prepared by its tokens, once', async () => {
  const { executor, asked } = recording()
  const prepared = await executor.prepare('{ strategies { id } }', requestContext)
  expect(await executor.prepare('{ strategies { id } }', requestContext)).toBe(prepared)
  expect(asked).toEqual([{ kind: 'runPreparation', cost: 6 * preparationCosts.token, sender: 'one' }])
})

test.each([
  ['commas', ','],
  ['characters of a comment', '#'],
  ['lines', '\n'],
])('a long document of few tokens and many %s is prepared as one of the most tokens', async (_, filling) => {
  const { executor, asked } = recording()
  await executor.prepare(`{ strategies { id } ${filling.repeat(10_000)}\n}`, requestContext)
  expect(asked).toEqual([
    { kind: 'runPreparation', cost: defaultQueryLimits.tokens * preparationCosts.token, sender: 'one' },
  ])
})

test('many variables are coerced after admission, few immediately', async () => {
  const { executor, asked } = recording()
  const owned = 'query ($owner: [Address!]) { vaults(where: { owner: $owner }) { nodes { address } } }'
  const prepared = await executor.prepare(owned, requestContext)
  const admitted = async (count: number): Promise<unknown> => {
    asked.length = 0
    const owner = Array.from({ length: count }, (_, at) => `0x${String(at).padStart(40, '0')}`)
    await executor.run(prepared, { variables: { owner } }, requestContext)
    return asked.filter(({ kind }) => kind === 'runPreparation').map(({ cost }) => cost)
  }
  const fewest = admissionLimits.shortPreparation / preparationCosts.variableValue
  // The list is a value too.
  expect(await admitted(fewest - 1)).toEqual([])
  expect(await admitted(fewest)).toEqual([(fewest + 1) * preparationCosts.variableValue])
})

describe('an operation with more combinations of its conditions than the limit of variants', () => {
  const names = ['a', 'b', 'c', 'd']
  const combinations = Array.from({ length: 16 }, (_, bits) =>
    Object.fromEntries(names.map((name, at) => [name, ((bits >> at) & 1) === 1])),
  )

  /** Runs each combination with additional fields; returns how many graphql-js executed, and the results. */
  async function runAll(fields: number): Promise<{ fallbacks: number; isCompiled: boolean[] }> {
    const onFallback = vi.fn()
    const { admission } = recording()
    const executor = createExecutor({
      schema,
      limits: { ...defaultQueryLimits, aliases: 1_000 },
      admission,
      runConsistently: (_, execute) => execute({} as never),
      observer: { onFallback },
    })
    const conditional = names.map((name) => `${name}: __typename @include(if: $${name})`)
    const others = Array.from({ length: fields }, (_, at) => `x${at}: __typename`)
    const query = `query (${names.map((name) => `$${name}: Boolean!`).join(' ')}) { ${[...conditional, ...others].join(' ')} }`
    const prepared = await executor.prepare(query, requestContext)
    const isCompiled: boolean[] = []
    for (const variables of combinations) {
      const { data, errors } = await executor.run(prepared, { variables }, requestContext)
      expect(errors).toBeUndefined()
      isCompiled.push(data instanceof JsonText)
    }
    return { fallbacks: onFallback.mock.calls.length, isCompiled }
  }

  test('is compiled for each if it is small', async () => {
    expect(await runAll(1)).toEqual({ fallbacks: 0, isCompiled: combinations.map(() => true) })
  })

  test('is not compiled again if it is known that it cannot be compiled', async () => {
    const compile = vi.spyOn(FallbackQueue.prototype, 'compile')
    const { admission } = recording()
    const executor = createExecutor({
      schema,
      limits: withTooManyFields(defaultQueryLimits),
      admission,
      runConsistently: (_, execute) => execute({} as never),
    })
    const conditional = names.map((name) => `${name}: __typename @include(if: $${name})`)
    const query = `query (${names.map((name) => `$${name}: Boolean!`).join(' ')}) { ${conditional.join(' ')} ${tooManyFields} }`
    const prepared = await executor.prepare(query, requestContext)
    for (const variables of [...combinations, ...combinations.slice(0, operationCacheLimits.variants)])
      await executor.run(prepared, { variables }, requestContext)
    expect(compile).toHaveBeenCalledTimes(combinations.length - operationCacheLimits.variants)
    compile.mockRestore()
  })

  test('is executed by graphql-js for the others if it is large', async () => {
    const { variants, fieldsOfRun } = operationCacheLimits
    const isCompiled = combinations.map((_, at) => at < variants)
    expect(await runAll(fieldsOfRun)).toEqual({
      fallbacks: combinations.length - variants,
      isCompiled: [...isCompiled],
    })
  })
})
