/**
 * Measures the gateway over REST and GraphQL, with and without its response cache, on PostgreSQL and on PGlite, and compares
 * it with a bare handler, a constant one and PostGraphile. It creates a database on the PostgreSQL server at
 * BENCH_DATABASE_URL. A run with the default options writes its results to the README of this folder; others only print.
 *   BENCH_DATABASE_URL=postgres://... npm run bench [-- --help]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { measureSpeed } from './speed/measure.ts'
import { readOptions } from './speed/options.ts'
import { writeResults } from './speed/readme.ts'
import { formatReport } from './speed/report.ts'

const options = readOptions(process.argv.slice(2), process.env['BENCH_DATABASE_URL'])
if (typeof options === 'string') {
  console.error(options)
  process.exit(2)
}
const folder = await mkdtemp(path.join(tmpdir(), 'speed-'))
try {
  const { result, run } = await measureSpeed(options, folder)
  const text = formatReport(result, run)
  console.log(`\n${text}`)
  if (options.hasDefaults) await writeResults(text)
} finally {
  await rm(folder, { recursive: true })
}
