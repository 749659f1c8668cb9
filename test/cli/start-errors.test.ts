import { expect, test } from 'vitest'
import { sufficientMessage } from '../../src/cli/start-errors.ts'
import { DatabaseUnavailable } from '../../src/database/errors.ts'

const reason = new Error('Connection terminated unexpectedly')

test('if a read of the database fails at the start, the message has the reason', () => {
  expect(sufficientMessage(new DatabaseUnavailable(reason))).toBe(
    'The database does not answer now. Connection terminated unexpectedly',
  )
})

test.each([
  new DatabaseUnavailable(reason, `PostgreSQL at a:5432 does not answer now: ${reason.message}.`),
  new DatabaseUnavailable(undefined, 'The connection of the migrations was lost.'),
  new Error('another one'),
])('other messages are sufficient as they are', (error) => {
  expect(sufficientMessage(error)).toBe(error.message)
})
