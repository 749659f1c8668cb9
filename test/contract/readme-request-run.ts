/**
 * Sends the requests of the walk of a request in src/README.md to a gateway, and prints the files of src/ whose functions were
 * called, during the requests and while the gateway was idle, as JSON. It is a separate program for the same reasons as
 * readme-fact-run.ts.
 */
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { serve } from '../../src/cli/commands/serve.ts'
import { createLog } from '../../src/cli/log.ts'
import { readConfig } from '../../src/config.ts'
import { openPGlite } from '../../src/database/pglite/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { filesRunBy } from '../support/coverage.ts'

const nowSeconds = 1_767_225_600
/** Long enough for several polls of the commit log. */
const idleMilliseconds = 500
const snapshot = '/vault/0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A/snapshot'
const query = `{ vaults(first: 2) { nodes {
  address strategy { name } positions { id } equity(points: 3) { ts } events(first: 2) { nodes { type } } } } }`

const key = 'a-key-of-this-test'
const env = { PORT: '0', HOST: '127.0.0.1', API_KEYS: key, RATE_LIMIT: '1000/60' }
const authorization = `Bearer ${key}`

const database = await openPGlite()
await migrate(database)
const gateway = await serve({
  config: readConfig(env),
  database,
  feed: null,
  chain: null,
  skipBad: false,
  log: createLog({ level: 'info', secrets: [], worker: null, output: process.stderr }),
  input: Readable.from([]),
  print: () => undefined,
  nowSeconds: () => nowSeconds,
})
const base = `http://127.0.0.1:${gateway.port}`

const idle = await filesRunBy(() => wait(idleMilliseconds))
const ran = await filesRunBy(async () => {
  await expectSuccess(fetch(`${base}${snapshot}`, { headers: { authorization } }))
  const headers = { authorization, 'content-type': 'application/json' }
  await expectSuccess(fetch(`${base}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) }))
})
console.log(JSON.stringify({ ran, idle }))

await gateway.close()
await database.close()

/** @throws {Error} for another status than 200, and for GraphQL errors */
async function expectSuccess(pending: Promise<Response>): Promise<void> {
  const response = await pending
  const text = await response.text()
  if (response.status !== 200 || text.includes('"errors"')) throw new Error(`${response.status}: ${text}`)
}
