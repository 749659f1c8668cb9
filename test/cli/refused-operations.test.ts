import { describe, expect, test } from 'vitest'
import { logRefusedOperations } from '../../src/cli/persisted-operations/refused-operations.ts'
import { defaultQueryLimits } from '../../src/limits.ts'

const deep = `{ strategies ${'{ vaults { nodes { strategy '.repeat(6)}{ id }${' } } }'.repeat(6)} }`

describe('operations of a manifest that are refused whatever their variables are', () => {
  const valid: [id: string, text: string] = ['valid', '{ strategies { id } }']

  async function warningsOf(operations: ReadonlyMap<string, string>, signal = new AbortController().signal) {
    const warnings: [message: string, facts: unknown][] = []
    const log = { warn: (message: string, facts?: unknown) => void warnings.push([message, facts]) }
    await logRefusedOperations(operations, defaultQueryLimits, { log, signal })
    return warnings
  }

  test.each([
    ['of another schema', '{ strategies { ident } }', 'Cannot query field "ident" on type "Strategy"'],
    ['that is not GraphQL', '{ strategies {', 'Syntax Error'],
    ['that is too deep', deep, 'The query has 20 levels'],
  ])('an operation %s is logged with its id', async (_, text, problem) => {
    expect(await warningsOf(new Map([valid, ['wrong', text]]))).toEqual([
      [expect.stringContaining(problem), { operationId: 'wrong' }],
    ])
  })

  test('many are logged as a number', async () => {
    const warnings = await warningsOf(new Map(Array.from({ length: 23 }, (_, at) => [`id ${at}`, `{ a${at} }`])))
    expect(warnings).toHaveLength(21)
    expect(warnings.at(-1)).toEqual([expect.stringContaining('more operations'), { others: 3 }])
  })

  test('none are looked for after a stop', async () => {
    expect(await warningsOf(new Map([['wrong', '{ a }']]), AbortSignal.abort())).toEqual([])
  })
})
