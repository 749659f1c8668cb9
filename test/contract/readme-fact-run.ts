/**
 * Runs the ingest of the walk of a fact in src/README.md, and prints the files of src/ whose functions were called, as JSON.
 * It is a separate program, since Vitest transforms the files, and runs other tests in the same process.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { ingestCommand } from '../../src/cli/commands/ingest.ts'
import { notifyAll } from '../../src/cli/gateway.ts'
import { openPGlite } from '../../src/database/pglite/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { filesRunBy } from '../support/coverage.ts'

const nowSeconds = 1_767_225_600
/** Number of facts of the demo world: enough for each kind of fact and a bucket of equity points. */
const facts = 400
const unknownVault = {
  kind: 'mark',
  ts: nowSeconds,
  vault: `0x${'5e'.repeat(20)}`,
  valueUsd: '1',
  prices: {},
  positions: [],
}
const badLines = [unknownVault, { ...unknownVault, valueUsd: 'much' }]

const folder = await mkdtemp(path.join(tmpdir(), 'walk-'))
const feed = path.join(folder, 'feed.ndjson')
const lines = [...demoFacts(nowSeconds).slice(0, facts), ...badLines]
await writeFile(feed, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))

const database = await openPGlite()
await migrate(database)
const cache = createResponseCache(1_000_000)
const versions = new DataVersions()
let notified: () => void = () => undefined
const isNotified = new Promise<void>((resolve) => (notified = resolve))
let isIngested = false
const listener = notifyAll(cache, versions, {
  committed: () => undefined,
  listening: () => undefined,
  endAll: () => undefined,
})
const reports = await database.listen({
  ...listener,
  committed: (commit) => {
    listener.committed(commit)
    if (isIngested) notified()
  },
})

const ran = await filesRunBy(async () => {
  isIngested = true
  await ingestCommand({
    database,
    feed,
    skipBad: true,
    output: process.stderr,
    nowSeconds: () => nowSeconds,
    input: Readable.from([]),
    signal: new AbortController().signal,
  })
  await isNotified
})
console.log(JSON.stringify({ ran, idle: [] }))

await reports.stop()
await database.close()
await rm(folder, { recursive: true })
