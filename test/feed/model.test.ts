import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { openPostgreSqlWriter } from '../../src/database/postgresql/writer.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { createWriter, type Writer } from '../../src/feed/jobs/writer.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { createOnServer, empty, emptyDatabase, postgresUrl } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { gatewayOn } from '../support/gateway.ts'
import { feedOf } from '../support/world.ts'
import { feedOfShape, type ModelLine, shape } from './model/random-feed.ts'
import { expectServed } from './model/served.ts'
import type { Outcome } from './model/world-model.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'model-'))
})
afterAll(() => rm(folder, { recursive: true }))

interface Applied {
  readonly applied: number
  readonly skipped: number
  /** Numbers of the bad lines, and their keys. */
  readonly rejected: readonly { readonly line: number; readonly key: string | null }[]
}

/** Applies lines, and sets bad ones aside. */
async function applySkipping(
  lines: readonly ModelLine[],
  linesTogether: number,
  writers: readonly Writer[] = [],
): Promise<Applied> {
  const file = path.join(await mkdtemp(path.join(folder, 'run-')), 'rejects.ndjson')
  const texts = lines.map(({ bytes }) => bytes)
  const source = feedOf(texts, linesTogether)
  const { applied, skipped } = await ingest({ database, source, writers, rejects: rejectsFile(file) })
  const rejected = (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return { applied: total(applied), skipped: total(skipped), rejected: rejected.map(lineAndKey) }
}

function lineAndKey(json: string): Applied['rejected'][number] {
  const { line, key, reason } = JSON.parse(json) as { line: number; key: string | null; reason: string }
  expect(reason).not.toBe('')
  return { line, key }
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** Counts the outcomes of the model. */
function countsOf(outcomes: readonly (Outcome | null)[]): Applied {
  const having = (status: Outcome['status']): number => outcomes.filter((one) => one?.status === status).length
  const rejected = outcomes.flatMap((one, at) => (one?.status === 'rejected' ? [{ line: at + 1, key: one.key }] : []))
  return { applied: having('applied'), skipped: having('skipped'), rejected }
}

describe('any feed', () => {
  test('has the result of a naive model of the rules, by REST and GraphQL, now and at each second', async () => {
    const property = fc.asyncProperty(shape, fc.integer({ min: 1, max: 60 }), async (feedShape, linesTogether) => {
      database = await emptyDatabase()
      const { lines, model } = feedOfShape(feedShape)
      expect(await applySkipping(lines, linesTogether)).toEqual(countsOf(lines.map(({ outcome }) => outcome)))
      const before = await dumpReadModel(database)
      // A rejected fact may be valid by now: of a vault that was opened since, for example.
      const again = countsOf(lines.map(({ fact, outcome }) => (fact === null ? outcome : model.apply(fact))))
      expect(await applySkipping(lines, lines.length)).toEqual(again)
      if (again.applied === 0) expect(await dumpReadModel(database)).toEqual(before)
      await expectServed(gatewayOn(database), model)
    })
    await fc.assert(property, { numRuns: Number(process.env['MODEL_RUNS'] ?? 2), endOnFailure: true })
  })

  test.skipIf(postgresUrl === undefined)(
    'has the same result, and the same bad lines, by several writers',
    async () => {
      const url = await createOnServer(postgresUrl ?? '')
      database = await openPostgreSql(url, 5)
      await migrate(database)
      const writers = Array.from({ length: 3 }, () => createWriter(openPostgreSqlWriter(url)))
      try {
        const property = fc.asyncProperty(shape, async (feedShape) => {
          const { lines } = feedOfShape({ ...feedShape, lines: 1_500, vaults: 9, isCatalogueFixed: true })
          await empty(database)
          const wanted = countsOf(lines.map(({ outcome }) => outcome))
          expect(await applySkipping(lines, lines.length)).toEqual(wanted)
          const whole = await dumpReadModel(database)
          await empty(database)
          expect(await applySkipping(lines, lines.length, writers)).toEqual(wanted)
          expect(await dumpReadModel(database)).toEqual(whole)
        })
        await fc.assert(property, { numRuns: Number(process.env['MODEL_RUNS'] ?? 2), endOnFailure: true })
      } finally {
        await Promise.all([...writers, database].map((each) => each.close()))
      }
    },
  )
})
