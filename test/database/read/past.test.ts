import { expect, test } from 'vitest'
import { batchReads } from '../../../src/database/batching/batch-scheduler.ts'
import type { Reader, Value } from '../../../src/database/database.ts'
import { readMarkStates } from '../../../src/database/read/past/positions-at.ts'
import { readVaultsAt } from '../../../src/database/read/past/vault-at.ts'
import { addressOf, midnight } from '../../support/world.ts'

const vault = addressOf(1)
const times = Array.from({ length: 10 }, (_, index) => midnight + index)

test.each([
  ['states', (reader: Reader, at: number) => readVaultsAt(reader, [vault], at)],
  ['states of marks', (reader: Reader, at: number) => readMarkStates(reader, [vault], at)],
])('%s of different times are read by one statement', async (_, read) => {
  const sent: (readonly Value[])[] = []
  const batched = batchReads({
    read: (_statement, values) => {
      sent.push(values)
      return Promise.resolve({ rows: [], version: null })
    },
  })
  const reader: Reader = {
    query: async <Row>(...[statement, values]: Parameters<Reader['query']>) =>
      (await batched.read<Row>(statement, values)).rows,
  }
  await Promise.all(times.map((at) => read(reader, at)))
  expect(sent).toEqual([[times.map((at) => `${vault}@${at}`)]])
})
