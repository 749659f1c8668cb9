/**
 * Runs the ingest that src/README.md walks through, and prints the files of src/ whose functions ran, as JSON. It is a
 * process of its own: the tests' runner has loaded the files in another form, and other tests run in it.
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
/** Enough of the demo world for each kind of fact and a bucket of equity points. */
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
let heard: () => void = () => undefined
const isHeard = new Promise<void>((resolve) => (heard = resolve))
let isIngested = false
const listener = notifyAll(cache, versions, {
  committed: () => undefined,
  listening: () => undefined,
  endAll: () => undefined,
})
const stopListening = await database.listen({
  ...listener,
  committed: (commit) => {
    listener.committed(commit)
    if (isIngested) heard()
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
  await isHeard
})
console.log(JSON.stringify({ ran, idle: [] }))

await stopListening()
await database.close()
await rm(folder, { recursive: true })
