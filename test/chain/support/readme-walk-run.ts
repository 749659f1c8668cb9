/**
 * Follows a chain up to its finalized head, and prints the functions of src/ that were called, as JSON: those that the
 * arguments name first, in the order of their first calls. It is a separate program, since Vitest transforms the files, and
 * runs other tests in the same process. Arguments: the configuration file, and names of functions.
 */
import { followedChain, readChainFile } from '../../../src/cli/commands/chain.ts'
import { createLog } from '../../../src/cli/log.ts'
import { openPGlite } from '../../../src/database/pglite/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import type { FactSource } from '../../../src/feed/reading/source.ts'
import { functionsRunBy } from '../../support/coverage.ts'
import { inOrderOfFirstCalls } from './first-calls.ts'

const [file = '', ...names] = process.argv.slice(2)
const log = createLog({ level: 'error', secrets: [], output: { write: () => undefined } })

/** Ends the source once its end was recorded. */
function endingAtHead(source: FactSource, stopping: AbortController): FactSource {
  return {
    ...source,
    onEnd: (listener) =>
      source.onEnd?.(async (end) => {
        await listener(end)
        stopping.abort()
      }),
  }
}

/** Follows the chain with an empty database, whose preparation is not part of the walk. */
async function prepare() {
  const database = await openPGlite()
  await migrate(database)
  const stopping = new AbortController()
  const { signal } = stopping
  return {
    database,
    async follow() {
      const chain = await readChainFile(file)
      const source = await followedChain({ database, chain, log, signal, onLastingFault: () => undefined })
      await ingest({ database, source: endingAtHead(source, stopping), signal, nowSeconds: () => Date.now() / 1000 })
    },
  }
}

const [first, second] = [await prepare(), await prepare()]
const ran = await functionsRunBy(first.follow)
const named = ran.filter(({ name }) => names.includes(name))
const ordered = await inOrderOfFirstCalls(named, second.follow)
const others = ran.filter((one) => !named.includes(one))
console.log(JSON.stringify([...ordered, ...others].map(({ file: of, name }) => ({ file: of, name }))))
await Promise.all([first.database.close(), second.database.close()])
