/**
 * Follows a chain, whose configuration file is the argument, up to its finalized head, and prints the functions of src/ that were
 * called, as JSON. It is a separate program, since Vitest transforms the files, and runs other tests in the same process.
 */
import { followedChain, readChainFile } from '../../../src/cli/commands/chain.ts'
import { createLog } from '../../../src/cli/log.ts'
import { openPGlite } from '../../../src/database/pglite/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import type { FactSource } from '../../../src/feed/reading/source.ts'
import { functionsRunBy } from '../../support/coverage.ts'

const [file = ''] = process.argv.slice(2)
const database = await openPGlite()
await migrate(database)
const log = createLog({ level: 'error', secrets: [], output: { write: () => undefined } })
const stopping = new AbortController()
const { signal } = stopping

/** Ends the source once its end was recorded. */
function endingAtHead(source: FactSource): FactSource {
  return {
    ...source,
    onEnd: (listener) =>
      source.onEnd?.(async (end) => {
        await listener(end)
        stopping.abort()
      }),
  }
}

const ran = await functionsRunBy(async () => {
  const chain = await readChainFile(file)
  const source = await followedChain({ database, chain, log, signal, onLastingFault: () => undefined })
  await ingest({ database, source: endingAtHead(source), signal, nowSeconds: () => Date.now() / 1000 })
})
console.log(JSON.stringify(ran.map(({ file: of, name }) => ({ file: of, name }))))
await database.close()
