import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { type FactSource, inputSource } from '../../src/feed/reading/source.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { midnight } from '../support/world.ts'

const facts = demoFacts(midnight)

/** Returns a source of facts in lists of 100. */
function factSource(all: readonly FactInput[]): FactSource {
  async function* lists(): AsyncGenerator<readonly FactInput[]> {
    for (let at = 0; at < all.length; at += 100) yield await Promise.resolve(all.slice(at, at + 100))
  }
  return {
    name: 'facts',
    start: { line: 0 },
    facts: lists(),
    positionAfter: ({ number }) => ({ line: number, byte: 0, fingerprint: String(number) }),
  }
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fact-source-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('facts as objects lead to the same read model as facts as lines', async () => {
  const database = await emptyDatabase()
  await ingest({ database, source: inputSource(Readable.from([Buffer.from(feedText(facts))])) })
  const fromLines = await dumpReadModel(database)
  const fromObjects = await emptyDatabase()
  await ingest({ database: fromObjects, source: factSource(facts) })
  expect(await dumpReadModel(fromObjects)).toEqual(fromLines)
})

test('facts as objects are skipped where they were applied as lines', async () => {
  const database = await emptyDatabase()
  const { applied } = await ingest({ database, source: inputSource(Readable.from([Buffer.from(feedText(facts))])) })
  const again = await ingest({ database, source: factSource(facts) })
  expect(again).toEqual({ applied: {}, skipped: applied, rejected: {} })
})

test('a rejected object is written with its text and its number', async () => {
  const database = await emptyDatabase()
  const [first, ...rest] = facts
  const bad = { ...first, ts: -1 } as FactInput
  const rejects = rejectsFile(path.join(folder, 'rejects.ndjson'))
  const { rejected } = await ingest({ database, source: factSource([...rest.slice(0, 2), bad]), rejects })
  expect(rejected).toEqual({ strategy: 1 })
  expect(JSON.parse(await readFile(rejects.file, 'utf8'))).toMatchObject({
    line: 3,
    key: 'ts',
    text: JSON.stringify(bad),
  })
})
