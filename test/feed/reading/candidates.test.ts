import { appendFile, mkdtemp, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openCandidates } from '../../../src/feed/reading/rotation/candidates.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'candidates-'))
})
afterEach(() => rm(folder, { recursive: true }))

const generations = 6

test('a rotation while the files beside a feed are opened hides none of them', async () => {
  const feed = path.join(folder, 'feed.ndjson')
  const fileOf = (generation: number): string => `${feed}.${generation}`
  for (let generation = 1; generation <= generations; generation++) await writeFile(fileOf(generation), `${generation}`)
  const all = Array.from({ length: generations }, (_, at) => `${at + 1}`)
  for (let rounds = 0; rounds < 60; rounds++) {
    const isUp = rounds % 2 === 0
    const rotation = async (): Promise<void> => {
      // Each name is free when it is taken.
      const numbers = Array.from({ length: generations }, (_, at) => (isUp ? generations - at : at + 2))
      for (const number of numbers) await rename(fileOf(number), fileOf(isUp ? number + 1 : number - 1))
    }
    const [found] = await Promise.all([openCandidates(feed, [], []), rotation()])
    const contents = await Promise.all(found.map(({ handle }) => handle.readFile('utf8')))
    await Promise.all(found.map(({ handle }) => handle.close()))
    expect(contents.sort(), `round ${rounds}`).toEqual(all)
  }
})

test('files that are renamed without end do not keep the others from being opened without end', async () => {
  const feed = path.join(folder, 'feed.ndjson')
  await writeFile(`${feed}.1`, 'one')
  const rotation = { isOver: false }
  const renamed = (async () => {
    for (let at = 1; !rotation.isOver; at++) await rename(`${feed}.${at}`, `${feed}.${at + 1}`)
  })()
  const found = await openCandidates(feed, [], [])
  rotation.isOver = true
  await renamed
  for (const { handle } of found) {
    expect(await handle.readFile('utf8')).toBe('one')
    await handle.close()
  }
})

describe('files are in the order in which they were begun', () => {
  const opened = async (): Promise<string[]> => {
    const found = await openCandidates(path.join(folder, 'feed.ndjson'), [], [])
    await Promise.all(found.map(({ handle }) => handle.close()))
    return found.map((one) => path.basename(one.path).slice('feed.ndjson'.length))
  }
  /** Writes a file until its clock has ticked since another one was written to. */
  const writeAfter = async (file: string, other: string, write: () => Promise<void>): Promise<void> => {
    const { mtimeNs } = await stat(other, { bigint: true })
    do await write()
    while ((await stat(file, { bigint: true })).mtimeNs <= mtimeNs)
  }
  const fileWith = (suffix: string): string => path.join(folder, `feed.ndjson${suffix}`)

  test('also where lines come late, and in copies with the time of their original', async () => {
    const [older, newer, copy] = [fileWith('.2'), fileWith('.1'), fileWith('.3.gz')]
    await writeFile(older, 'older')
    await writeAfter(newer, older, async () => {
      await rm(newer, { force: true })
      await writeFile(newer, 'newer')
    })
    await writeAfter(older, newer, () => appendFile(older, 'late'))
    expect(await opened()).toEqual(['.1', '.2'])
    await writeFile(copy, 'compressed')
    // Its last lines came when the next file was begun already.
    const { mtimeMs } = await stat(newer)
    await utimes(copy, mtimeMs / 1_000, mtimeMs / 1_000)
    expect(await opened()).toEqual(['.1', '.2', '.3.gz'])
  })

  test.each([
    [['.1', '.2', '.10']],
    [['.1', '.2.gz', '.10.gz']],
    [['-20260110.gz', '-20260109.gz', '-20251231.gz']],
    [['.2026-01-10.2', '.2026-01-10', '.2026-01-09.gz']],
  ])('by their names where their times are equal: %j', async (suffixes) => {
    for (const suffix of suffixes) {
      await writeFile(fileWith(suffix), 'x')
      await utimes(fileWith(suffix), 1_700_000_000, 1_700_000_000)
    }
    expect(await opened()).toEqual(suffixes)
  })
})
