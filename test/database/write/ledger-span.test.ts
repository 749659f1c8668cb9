import { expect, test } from 'vitest'
import type { Database, Transaction } from '../../../src/database/database.ts'
import { createDatabase, emptyDatabase } from '../../support/database.ts'
import { explainWrites } from '../../support/explain.ts'
import { completeSpans, longLedger, storeLedgers } from '../../support/long-ledger.ts'
import { addressOf, apply, event, mark, midnight, opened, strategy } from '../../support/world.ts'

const vault = addressOf(1)
const fee = (ts: number, block: number) => ({ ...event(vault, ts, { type: 'fee', amountUsd: '1' }), block })

/** Returns a database that records the names of the statements that its transactions send. */
function recordingWrites(database: Database): { recording: Database; sent: string[] } {
  const sent: string[] = []
  const recorded = (inner: Transaction): Transaction => ({
    ...inner,
    query: (statement, values) => inner.query(statement, values),
    copy: (statement, rows) => void inner.copy(statement, rows),
    send: (statement, values) => {
      sent.push(statement.name)
      inner.send(statement, values)
    },
  })
  const transaction: Database['transaction'] = (work) => database.transaction((inner) => work(recorded(inner)))
  return { recording: { ...database, transaction }, sent }
}

test('ledgers in order have no spans, and cost no statement', async () => {
  const { recording, sent } = recordingWrites(await emptyDatabase())
  await apply(recording, [strategy('one'), opened(vault, 'one'), fee(midnight, 5), fee(midnight + 1, 5)])
  expect(sent.filter((name) => name.startsWith('ledger_spans'))).toEqual([])
  await apply(recording, [fee(midnight + 2, 4)])
  expect(sent.filter((name) => name.startsWith('ledger_spans'))).toHaveLength(3)
})

test('a batch reads few rows of a long ledger whose rows did not arrive in the order of blocks', async () => {
  const database = await createDatabase()
  try {
    await apply(database, [strategy('one'), opened(vault, 'one')])
    const rows = longLedger(30_000, (index) => 10 + ((index * 7_919) % 30_000))
    await storeLedgers(database, new Map([[vault, rows]]))
    await completeSpans(database)
    const now = (rows.at(-1)?.ts ?? 0) + 1
    const small = await explainWrites(database, (counted) => apply(counted, [mark(vault, now, '5')]))
    expect(small.rows, small.scans.join(', ')).toBeLessThanOrEqual(300)
  } finally {
    await database.close()
  }
})
