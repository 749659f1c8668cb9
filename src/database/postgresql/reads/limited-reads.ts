import { Canceller } from '../../cancellation.ts'
import type { StatementReader } from '../../database.ts'
import { DatabaseUnavailable, ReadCancelled } from '../../errors.ts'

/**
 * Time limit of reads that have no signal, in milliseconds: longer than the server's statement timeout, so that it takes effect
 * only on an unresponsive connection.
 */
const defaultMilliseconds = 70_000

/**
 * Limits the time of reads without a cancellation signal: on an unresponsive connection, nothing else would end them.
 * @returns a reader whose reads without a signal fail as {@link DatabaseUnavailable} after the limit
 */
export function limitReads(reader: StatementReader, milliseconds = defaultMilliseconds): StatementReader {
  return {
    read: (statement, values, signal) =>
      signal === undefined
        ? withLimit(milliseconds, (limit) => reader.read(statement, values, limit))
        : reader.read(statement, values, signal),
  }
}

async function withLimit<Result>(milliseconds: number, read: (limit: Canceller) => Promise<Result>): Promise<Result> {
  const limit = new Canceller()
  const timer = setTimeout(() => limit.abort(), milliseconds)
  try {
    return await read(limit)
  } catch (error) {
    throw limit.aborted && error instanceof ReadCancelled ? new DatabaseUnavailable(error) : error
  } finally {
    clearTimeout(timer)
  }
}
