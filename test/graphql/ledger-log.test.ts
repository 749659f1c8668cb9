import { expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { ReadCancelled } from '../../src/database/errors.ts'
import { untilCancelled } from '../../src/database/cancellation.ts'
import { createLedgerLog, parseLedgerPosition } from '../../src/graphql/ledger-log.ts'
import { ledgerLogLimits } from '../../src/limits/live.ts'

/** A database on an unresponsive connection: only a signal ends a read. */
const silent: Pick<Database, 'query'> = {
  query: (_statement, _values, signal) => untilCancelled(new Promise<never>(() => undefined), signal),
}

test('reads of the ledger time out if the database does not answer, so that streams can retry', async () => {
  const log = createLedgerLog(silent, { ...ledgerLogLimits, milliseconds: 20 })
  const beginning = parseLedgerPosition('0.0')
  if (beginning === null) throw new Error('no position')
  await expect(log.end()).rejects.toBeInstanceOf(ReadCancelled)
  await expect(log.after(beginning, null)).rejects.toBeInstanceOf(ReadCancelled)
})
