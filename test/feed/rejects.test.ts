import { appendFile, type FileHandle, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { UnwritableRejects } from '../../src/feed/errors.ts'
import { ingest } from '../../src/feed/ingest.ts'
import type { Rejected } from '../../src/feed/rejects/rejected-lines.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { emptyDatabase } from '../support/database.ts'
import { feedOf, mark, midnight, opened, strategy, vaultA } from '../support/world.ts'

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

/** Returns the prototype of open files, whose methods can be replaced. */
async function prototypeOfFiles(): Promise<FileHandle> {
  const handle = await open(file, 'a')
  await handle.close()
  return Object.getPrototypeOf(handle) as FileHandle
}

/** Simulates a disk with this number of free bytes, until the returned function is called. */
async function limitDiskSpace(bytes: number): Promise<() => void> {
  let left = bytes
  const spy = vi.spyOn(await prototypeOfFiles(), 'write').mockImplementation(async function (
    this: FileHandle,
    ...args: unknown[]
  ) {
    const [buffer, from = 0] = args as [Buffer, number?]
    const some = buffer.subarray(from, from + left)
    if (some.length === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    left -= some.length
    await this.appendFile(some)
    return { bytesWritten: some.length, buffer }
  } as never)
  return () => spy.mockRestore()
}

describe('a file of bad lines', () => {
  test('has each line of a batch that is retried once', async () => {
    const rejects = rejectsFile(file)
    await rejects.write([bad(1), bad(2)])
    await rejects.write([bad(1), bad(2)])
    await rejects.write([bad(2), bad(3), bad(3)])
    expect(await linesOf()).toEqual([1, 2, 3])
  })

  describe('whose storage the disk refuses after a write', () => {
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    const batch = [bad(1), bad(2), bad(3)]

    test('has its lines written again before the next attempt to store them, in place', async () => {
      const rejects = rejectsFile(file)
      await rejects.write([bad(1)])
      const { size } = await stat(file)
      const files = await prototypeOfFiles()
      const sync = vi.spyOn(files, 'sync').mockRejectedValueOnce(full).mockRejectedValueOnce(full)
      await expect(rejects.write(batch)).rejects.toMatchObject({ isFull: true })
      const written = (await readFile(file)).subarray(size)
      await expect(rejects.write(batch)).rejects.toThrow(UnwritableRejects)
      await appendFile(file, '{"line":9}\n')
      const write = vi.spyOn(files, 'write')
      await rejects.write([...batch, bad(4)])
      expect(write.mock.calls[0]).toEqual([written, 0, written.length, size])
      expect(write).toHaveBeenCalledTimes(2)
      await rejects.write([...batch, bad(4)])
      expect(write).toHaveBeenCalledTimes(2)
      sync.mockRestore()
      write.mockRestore()
      expect(await linesOf()).toEqual([1, 2, 3, 9, 4])
    })

    test.each([
      ['cut off', async (size: number) => truncate(file, size)],
      ['replaced by zeros', async (size: number) => truncate(file, size).then(() => truncate(file, size + 500))],
    ])('has them appended again where they are lost, and %s', async (_how, lose) => {
      const rejects = rejectsFile(file)
      await rejects.write([bad(1)])
      const { size } = await stat(file)
      const sync = vi.spyOn(await prototypeOfFiles(), 'sync').mockRejectedValueOnce(full)
      await expect(rejects.write(batch)).rejects.toMatchObject({ isFull: true })
      sync.mockRestore()
      await lose(size)
      await rejects.write(batch)
      const lines = (await readFile(file, 'utf8'))
        .trimEnd()
        .split('\n')
        .filter((line) => line.startsWith('{'))
      expect(lines.map((line) => (JSON.parse(line) as { line: number }).line)).toEqual([1, 2, 3])
    })
  })

  test('has each line of a feed that is read again once, and keeps those of an earlier feed', async () => {
    await rejectsFile(file).write([bad(1, 'of yesterday'), bad(2)])
    await rejectsFile(file).write([bad(1), bad(2)])
    expect((await readFile(file, 'utf8')).match(/"text":"[^"]*"/g)).toEqual([
      '"text":"of yesterday"',
      '"text":"bad 2"',
      '"text":"bad 1"',
    ])
  })

  test('has a line once whose reason changes, also where an earlier version has written it', async () => {
    const older = { line: 1, key: 'ts', reason: 'is 50, older than the newest fact, 100', text: 'bad 1' }
    await writeFile(file, `${JSON.stringify(older)}\n`)
    const rejects = rejectsFile(file)
    const notUtf8 = { ...bad(2).line, bytes: Buffer.from([0xff]), length: 1 }
    const cut = { ...bad(3).line, length: 40_000_000 }
    for (const newest of [200, 300]) {
      const issue = { key: 'ts', reason: `is 50, older than the newest fact, ${newest}` }
      await rejects.write([bad(1).line, notUtf8, cut].map((line) => ({ line, issue })))
      await rejectsFile(file).write([{ line: { ...cut, length: 50_000_000 }, issue }])
    }
    expect(await linesOf()).toEqual([1, 2, 3, 3])
  })

  test('has the lines of all processes that share it', async () => {
    const [one, other] = [rejectsFile(file), rejectsFile(file)]
    await one.write([bad(1)])
    await other.write([bad(1), bad(2)])
    await one.write([bad(3)])
    // A failed attempt of a batch.
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

  test('has each line once where several processes write the same ones concurrently, also the first ones', async () => {
    const lines = Array.from({ length: 50 }, (_, at) => bad(at + 1))
    const processes = Array.from({ length: 4 }, () => rejectsFile(file))
    await Promise.all(
      processes.map(async (rejects) => {
        for (let from = 0; from < lines.length; from += 5) await rejects.write(lines.slice(from, from + 5))
      }),
    )
    expect(await linesOf()).toEqual(lines.map(({ line }) => line.number))
  })

  test('is created again where it was removed or replaced', async () => {
    const rejects = rejectsFile(file)
    await rejects.write([bad(1), bad(2)])
    await rm(file)
    await rejects.write([bad(2), bad(3)])
    expect(await linesOf()).toEqual([2, 3])
    await writeFile(file, '')
    await rejects.write([bad(3)])
    expect(await linesOf()).toEqual([3])
  })

  test('keeps complete lines after an incomplete one that a crash has left', async () => {
    await rejectsFile(file).write([bad(1)])
    await appendFile(file, '{"line":2,"te')
    await rejectsFile(file).write([bad(2)])
    const lines = (await readFile(file, 'utf8')).split('\n')
    expect(lines.slice(1)).toEqual(['{"line":2,"te', expect.stringContaining('"text":"bad 2"') as string, ''])
  })

  test('loses no line of other processes, and keeps no incomplete one, where a full disk truncates a write', async () => {
    const [rejects, other] = [rejectsFile(file), rejectsFile(file)]
    await rejects.write([bad(1)])
    const attempt = [bad(2), bad(3), bad(4)]
    const { size: whole } = await stat(file)
    for (const [room, others] of [
      [whole + 10, []],
      [0, [bad(10)]],
      [10, []],
      [5, [bad(11)]],
    ] as const) {
      const restore = await limitDiskSpace(room)
      await expect(rejects.write(attempt)).rejects.toThrow(/Make room on its disk/)
      restore()
      await other.write(others)
    }
    await rejects.write(attempt)
    const parsed = (await readFile(file, 'utf8')).split('\n').map((line) => /"line":(\d+).*\}$/.exec(line)?.[1] ?? line)
    // An incomplete line remains where another process has written after it.
    expect(parsed).toEqual([
      '1',
      '2',
      expect.stringMatching(/^\{"line":3/),
      '10',
      expect.anything(),
      '11',
      '3',
      '4',
      '',
    ])
  })

  test('compares added lines with its newest lines only', async () => {
    const long = 'x'.repeat(500)
    const many = Array.from({ length: 20_000 }, (_, at) => bad(at, `${long}${at}`))
    await rejectsFile(file).write(many)
    const { size } = await stat(file)
    const read = vi.spyOn(await prototypeOfFiles(), 'read')
    await rejectsFile(file).write(many.slice(-100))
    const positions = read.mock.calls.map((args) => (args as unknown[])[3] as number)
    read.mockRestore()
    expect(Math.min(...positions)).toBeGreaterThan(size / 2)
    expect((await stat(file)).size).toBe(size)
    await rejectsFile(file).write(many.slice(0, 2))
    expect((await stat(file)).size).toBeGreaterThan(size)
  })

  test('does not grow while a batch with more bad lines than its newest 4 MB hold is retried', async () => {
    const long = 'x'.repeat(3_000)
    const many = Array.from({ length: 3_000 }, (_, at) => bad(at, `${long}${at}`))
    const rejects = rejectsFile(file)
    await rejects.write(many)
    const { size } = await stat(file)
    expect(size).toBeGreaterThan(8 * 1024 * 1024)
    for (let attempt = 0; attempt < 3; attempt++) await rejects.write(many)
    expect((await stat(file)).size).toBe(size)
  })

  test('does not grow either where a full disk has truncated the batch at first', async () => {
    const long = 'x'.repeat(3_000)
    const many = Array.from({ length: 3_000 }, (_, at) => bad(at, `${long}${at}`))
    const rejects = rejectsFile(file)
    await rejects.write([bad(9_999)])
    const restore = await limitDiskSpace(6 * 1024 * 1024)
    await expect(rejects.write(many)).rejects.toThrow(/Make room on its disk/)
    restore()
    for (let attempt = 0; attempt < 3; attempt++) await rejects.write(many)
    expect(await linesOf()).toEqual([9_999, ...many.map(({ line }) => line.number)])
  })

  test('has no line appended to an incomplete one of any length', async () => {
    await writeFile(file, `{"line":1,"text":"${'x'.repeat(5 * 1024 * 1024)}`)
    await rejectsFile(file).write([bad(2)])
    const [, whole = ''] = (await readFile(file, 'utf8')).split('\n')
    expect(JSON.parse(whole)).toMatchObject({ line: 2 })
  })

  test('that cannot be written is an error', async () => {
    const rejects = rejectsFile(path.join(folder, 'nowhere', 'feed.rejects.ndjson'))
    await expect(rejects.write([bad(1)])).rejects.toBeInstanceOf(UnwritableRejects)
  })
})

test('two concurrent runs of standard input keep the bad lines of both, and neither reports lost commits', async () => {
  const database = await emptyDatabase()
  const of = (name: string) => Array.from({ length: 30 }, (_, at) => `bad line ${at} of ${name}`)
  await Promise.all(
    ['one', 'other'].map((name) => ingest({ database, source: feedOf(of(name), 3), rejects: rejectsFile(file) })),
  )
  const texts = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const rejected = texts.map((line) => (JSON.parse(line) as { text: string }).text)
  expect(rejected.toSorted()).toEqual([...of('one'), ...of('other')].toSorted())
})

test('a line that was set aside because it depends on a later one is applied when the feed is read again', async () => {
  const database = await emptyDatabase()
  const facts = [mark(vaultA, midnight + 1, '5'), opened(vaultA, 'one'), strategy('one')]
  const read = () => ingest({ database, source: feedOf(facts), rejects: rejectsFile(file) })
  expect(await read()).toEqual({ applied: { strategy: 1 }, skipped: {}, rejected: { mark: 1, vault: 1 } })
  expect(await read()).toEqual({ applied: { vault: 1 }, skipped: { strategy: 1 }, rejected: { mark: 1 } })
  expect(await read()).toEqual({ applied: { mark: 1 }, skipped: { vault: 1, strategy: 1 }, rejected: {} })
  expect(await linesOf()).toEqual([1, 2])
})
