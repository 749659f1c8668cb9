import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
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
