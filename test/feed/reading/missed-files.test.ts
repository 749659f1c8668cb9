import { appendFile, mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PrefixDigest } from '../../../src/feed/reading/prefix-digest.ts'
import { openMissed } from '../../../src/feed/reading/rotation/missed-files.ts'

/**
 * Returns the inodes of the files that were missed between the second and the first one of a feed.
 * @param sinceNs time of change of the second one, when it was seen at the path last
 */
async function missedAfter(name: string, sinceNs: bigint): Promise<number[]> {
  const [handle, successor] = await Promise.all([open(`${name}.2`), open(name)])
  const missed = await openMissed({
    name,
    handle,
    digest: new PrefixDigest(),
    sinceNs,
    successor,
    finished: new Set([new PrefixDigest().fingerprint()]),
    signal: new AbortController().signal,
    watcher: undefined,
  })
  const inodes = await Promise.all(missed.map(async (one) => (await one.stat()).ino))
  for (const each of [handle, successor, ...missed]) await each.close()
  return inodes
}

test('an empty file that was missed is read, though the file that was read was empty too: it may get lines yet', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'missed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const name = path.join(folder, 'feed.ndjson')
  for (const suffix of ['.2', '.1', '']) await writeFile(`${name}${suffix}`, '')
  expect(await missedAfter(name, 0n)).toEqual([(await stat(`${name}.1`)).ino])
})

test('a file is found that was begun after the one that was read, though that was written to later', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'missed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const name = path.join(folder, 'feed.ndjson')
  for (const suffix of ['.2', '.1', '']) await writeFile(`${name}${suffix}`, 'x')
  const written = (await stat(`${name}.1`, { bigint: true })).mtimeNs
  do await appendFile(`${name}.2`, 'late')
  while ((await stat(`${name}.2`, { bigint: true })).mtimeNs <= written)
  expect(await missedAfter(name, (await stat(`${name}.2`, { bigint: true })).mtimeNs)).toEqual([
    (await stat(`${name}.1`)).ino,
  ])
})
