import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PrefixDigest } from '../../../src/feed/reading/prefix-digest.ts'
import { openMissed } from '../../../src/feed/reading/rotation/missed-files.ts'

test('an empty file that was missed is read, though the file that was read was empty too: it may get lines yet', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'missed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const name = path.join(folder, 'feed.ndjson')
  for (const suffix of ['.2', '.1', '']) await writeFile(`${name}${suffix}`, '')
  const [handle, successor] = await Promise.all([open(`${name}.2`), open(name)])
  const missed = await openMissed({
    name,
    handle,
    digest: new PrefixDigest(),
    sinceNs: 0n,
    successor,
    finished: new Set([new PrefixDigest().fingerprint()]),
    signal: new AbortController().signal,
    watcher: undefined,
  })
  expect(await Promise.all(missed.map((one) => one.stat()))).toMatchObject([{ ino: (await stat(`${name}.1`)).ino }])
  for (const each of [handle, successor, ...missed]) await each.close()
})
