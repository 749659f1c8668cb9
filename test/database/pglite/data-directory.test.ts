import { mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DataDirUnusable, usableDataDirectory } from '../../../src/database/pglite/data-directory.ts'

let folder: string

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'data-')))
})
afterAll(() => rm(folder, { recursive: true }))

test('a data directory is made with those above it, once', async () => {
  const wanted = path.join(folder, 'a', 'b', 'c')
  const made = await Promise.all([usableDataDirectory(wanted), usableDataDirectory(path.join(folder, 'a/x/../b/c'))])
  expect(made).toEqual([wanted, wanted])
  expect((await stat(wanted)).isDirectory()).toBe(true)
  expect(await usableDataDirectory(wanted)).toBe(wanted)
  const link = path.join(folder, 'link')
  await symlink(wanted, link)
  expect(await usableDataDirectory(link)).toBe(wanted)
})

test('a data directory is made with those above it by several at once, whichever is ahead', async () => {
  for (let round = 0; round < 100; round++) {
    const wanted = path.join(folder, `${round}`, 'a', 'b')
    const made = await Promise.all(Array.from({ length: 8 }, () => usableDataDirectory(wanted)))
    expect(new Set(made)).toEqual(new Set([wanted]))
  }
})

test('a file, and a folder in a file, are refused', async () => {
  const file = path.join(folder, 'file')
  await writeFile(file, '')
  for (const wanted of [file, path.join(file, 'a'), path.join(file, 'a', 'b')])
    await expect(usableDataDirectory(wanted)).rejects.toThrow(DataDirUnusable)
})

test.runIf(process.platform === 'linux')('a folder where none can be made is refused, and not waited for', async () => {
  for (const wanted of ['/proc/none', '/proc/none/in/it'])
    await expect(usableDataDirectory(wanted)).rejects.toThrow(/ENOENT/)
})
