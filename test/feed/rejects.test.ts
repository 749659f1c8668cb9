import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { UnwritableRejects } from '../../src/feed/errors.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { type Rejected, rejectsFile } from '../../src/feed/rejects.ts'
import { emptyDatabase } from '../support/database.ts'
import { feedOf } from '../support/world.ts'

let folder: string
let file: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rejects-'))
})
beforeEach(async () => {
  file = path.join(await mkdtemp(path.join(folder, 'file-')), 'feed.rejects.ndjson')
})
afterAll(() => rm(folder, { recursive: true }))

const bad = (number: number, text = `bad ${number}`): Rejected => {
  const bytes = Buffer.from(text)
  return { line: { number, endByte: 0, bytes, length: bytes.length }, issue: { key: null, reason: 'is bad' } }
}
const linesOf = async (): Promise<unknown[]> => {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  return lines.map((line) => (JSON.parse(line) as { line: number }).line)
}

describe('a file of bad lines', () => {
  test('has each line of a batch that is retried once', async () => {
    const rejects = rejectsFile(file)
    await rejects.write([bad(1), bad(2)])
    await rejects.write([bad(1), bad(2)])
    await rejects.write([bad(2), bad(3), bad(3)])
    expect(await linesOf()).toEqual([1, 2, 3])
  })

  test('has each line of a feed that is read again once, and keeps those of a feed before', async () => {
    await rejectsFile(file).write([bad(1, 'of yesterday'), bad(2)])
    await rejectsFile(file).write([bad(1), bad(2)])
    expect((await readFile(file, 'utf8')).match(/"text":"[^"]*"/g)).toEqual([
      '"text":"of yesterday"',
      '"text":"bad 2"',
      '"text":"bad 1"',
    ])
  })

  test('has the lines of all processes that share it', async () => {
    const [one, other] = [rejectsFile(file), rejectsFile(file)]
    await one.write([bad(1)])
    await other.write([bad(1), bad(2)])
    await one.write([bad(3)])
    // An attempt of a batch that came to nothing.
    await other.write([bad(4)])
    await one.write([bad(5), bad(2)])
    expect(await linesOf()).toEqual([1, 2, 3, 4, 5])
  })

  test('has whole lines where several processes write at once', async () => {
    const long = 'x'.repeat(300_000)
    const writers = Array.from({ length: 4 }, () => rejectsFile(file))
    await Promise.all(
      writers.map(async (rejects, at) => {
        for (let number = 0; number < 5; number++) await rejects.write([bad(at * 5 + number, `${long}${number}`)])
      }),
    )
    expect((await linesOf()).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, at) => at),
    )
  })

  test('is begun anew where it was removed, or another one stands there', async () => {
    const rejects = rejectsFile(file)
    await rejects.write([bad(1), bad(2)])
    await rm(file)
    await rejects.write([bad(2), bad(3)])
    expect(await linesOf()).toEqual([2, 3])
    await writeFile(file, '')
    await rejects.write([bad(3)])
    expect(await linesOf()).toEqual([3])
  })

  test('keeps whole lines behind half a line, which a crash has left', async () => {
    await rejectsFile(file).write([bad(1)])
    await appendFile(file, '{"line":2,"te')
    await rejectsFile(file).write([bad(2)])
    const lines = (await readFile(file, 'utf8')).split('\n')
    expect(lines.slice(1)).toEqual(['{"line":2,"te', expect.stringContaining('"text":"bad 2"') as string, ''])
  })

  test('that cannot be written is told', async () => {
    const rejects = rejectsFile(path.join(folder, 'nowhere', 'feed.rejects.ndjson'))
    await expect(rejects.write([bad(1)])).rejects.toBeInstanceOf(UnwritableRejects)
  })
})

test('two runs of standard input beside each other leave the bad lines of both, and neither takes the other for a loss', async () => {
  const database = await emptyDatabase()
  const of = (name: string) => Array.from({ length: 30 }, (_, at) => `bad line ${at} of ${name}`)
  await Promise.all(
    ['one', 'other'].map((name) => ingest({ database, source: feedOf(of(name), 3), rejects: rejectsFile(file) })),
  )
  const texts = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const told = texts.map((line) => (JSON.parse(line) as { text: string }).text)
  expect(told.toSorted()).toEqual([...of('one'), ...of('other')].toSorted())
})
