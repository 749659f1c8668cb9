/**
 * Counts the files and functions of src/ that run for one uncached snapshot over REST, by V8's precise coverage:
 *   npm run bench:path [-- --list]
 * Functions that esbuild adds are not counted, nor those that also run while the gateway is idle, nor those that do not run
 * for each of several requests, such as the charge for a slow read.
 */
import path from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { serve } from '../../src/cli/commands/serve.ts'
import { createLog } from '../../src/cli/log.ts'
import { readConfig } from '../../src/config.ts'
import { openPGlite } from '../../src/database/pglite/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { functionsRunBy, type RunFunction } from '../support/coverage.ts'

const nowSeconds = 1_767_225_600
const idleMilliseconds = 1_000
const requests = 5
const vault = '0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A'

const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } })
const database = await openPGlite()
await migrate(database)
const gateway = await serve({
  config: readConfig({ PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error', CACHE_MEGABYTES: '0' }),
  database,
  feed: null,
  chain: null,
  skipBad: false,
  input: Readable.from([]),
  print: () => undefined,
  log: createLog({ level: 'error', secrets: [], worker: null, output: process.stderr }),
  nowSeconds: () => nowSeconds,
})
const snapshot = `http://127.0.0.1:${gateway.port}/vault/${vault}/snapshot`
// Opens the connection, and prepares the operation.
await request(snapshot)
const keyOf = ({ file, offset }: RunFunction): string => `${file}:${offset}`
const idle = new Set((await functionsRunBy(() => wait(idleMilliseconds))).map(keyOf))
let executed = await functionsRunBy(() => request(snapshot))
for (let count = 1; count < requests; count++) {
  const again = new Set((await functionsRunBy(() => request(snapshot))).map(keyOf))
  executed = executed.filter((one) => again.has(keyOf(one)))
}
await gateway.close()
await database.close()

const addedByEsbuild = ['__name', '<instance_members_initializer>']
const functions = executed.filter((one) => !idle.has(keyOf(one)) && !addedByEsbuild.includes(one.name))
const files = new Set(functions.map(({ file }) => file))
const folderOf = (file: string): string => path.dirname(file)
for (const folder of new Set([...files].map(folderOf).sort())) {
  const inFolder = functions.filter(({ file }) => folderOf(file) === folder)
  console.log(`${folder}: ${new Set(inFolder.map(({ file }) => file)).size} files, ${inFolder.length} functions`)
}
console.log(`${files.size} files, ${functions.length} functions`)
if (values.list) {
  const byLine = functions.toSorted((a, b) => a.file.localeCompare(b.file) || a.offset - b.offset)
  for (const { file, line, offset, name } of byLine) console.log(`src/${file}:${line ?? `@${offset}`} ${name}`)
}

async function request(url: string): Promise<void> {
  const response = await fetch(url)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url}: status ${response.status}: ${text}`)
}
