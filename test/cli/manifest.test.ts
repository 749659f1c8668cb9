import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { BadManifest, logRefusedOperations, readManifest } from '../../src/cli/manifest.ts'
import { defaultQueryLimits } from '../../src/limits.ts'

async function fileOf(text: string): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'manifest-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'operations.json')
  await writeFile(file, text)
  return file
}

const known = new Map([
  ['one', '{ strategies { id } }'],
  ['other', 'query Other { universe { assets { symbol } } }'],
])

describe('a manifest of operations', () => {
  test("is read as Apollo's", async () => {
    const operations = Array.from(known, ([id, body]) => ({ id, body, name: id, type: 'query' }))
    const manifest = { format: 'apollo-persisted-query-manifest', version: 1, operations }
    expect(await readManifest(await fileOf(JSON.stringify(manifest)))).toEqual(known)
  })

  test("is read as Relay's", async () => {
    expect(await readManifest(await fileOf(JSON.stringify(Object.fromEntries(known))))).toEqual(known)
  })

  test('is empty if none is configured', async () => {
    expect(await readManifest(null)).toEqual(new Map())
  })

  test.each([
    ['no JSON', '{', 'which is no JSON object'],
    ['a list', '[]', 'which is no JSON object'],
    ['another format', '{"format":"other"}', 'whose format is neither'],
    ['no operations', '{"format":"apollo-persisted-query-manifest"}', 'whose format is neither'],
    ['an operation without text', '{"one":5}', 'whose operation "one" has no text'],
    ['nothing', '{"format":"apollo-persisted-query-manifest","operations":[null]}', 'whose operation undefined'],
  ])('with %s is refused by its name', async (_, text, problem) => {
    const file = await fileOf(text)
    await expect(readManifest(file)).rejects.toThrow(`PERSISTED_OPERATIONS names ${file}, ${problem}`)
  })

  test('that does not exist is refused', async () => {
    await expect(readManifest('/nowhere/operations.json')).rejects.toThrow(BadManifest)
  })
})

const deep = `{ strategies ${'{ vaults { nodes { strategy '.repeat(6)}{ id }${' } } }'.repeat(6)} }`

describe('operations that are refused whatever their variables are', () => {
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
    expect(await warningsOf(new Map([...known, ['wrong', text]]))).toEqual([
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
