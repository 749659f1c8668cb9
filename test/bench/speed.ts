/**
 * The figures of this folder's README: the gateway over REST and GraphQL, cold and hot, on PostgreSQL and on
 * PGlite, beside a bare handler, a constant one and PostGraphile. It builds its world on the PostgreSQL server that
 * BENCH_DATABASE_URL names, in a database of its own. A run of the stated size writes the README; one that any option
 * makes another prints only.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { measureSpeed } from './speed/measure.ts'
import { readOptions } from './speed/options.ts'
import { report } from './speed/report.ts'
import { writeSection } from './speed/readme.ts'

const options = readOptions(process.argv.slice(2), process.env['BENCH_DATABASE_URL'])
if (typeof options === 'string') {
  console.error(options)
  process.exit(2)
}
const folder = await mkdtemp(path.join(tmpdir(), 'speed-'))
try {
  const { measured, setting } = await measureSpeed(options, folder)
  const text = report(measured, setting)
  console.log(`\n${text}`)
  if (options.isStated) await writeSection(text)
} finally {
  await rm(folder, { recursive: true })
}
