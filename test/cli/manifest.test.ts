import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { BadManifest, readManifest } from '../../src/cli/persisted-operations/manifest.ts'

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
