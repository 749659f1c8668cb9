import type { Writable } from 'node:stream'
import type pg from 'pg'
import { copyRows } from './copy.ts'
import type { Database, Statement, Value } from '../database.ts'
import { classifyStatementError, rejectWithOutage, type ToOutage } from '../driver-errors.ts'
import { rowsOf } from './reads/pipeline.ts'
import { TransactionQueue } from '../transaction-queue.ts'
import { DatabaseUnavailable } from '../errors.ts'

const begin: Statement = { name: 'begin', text: 'begin', prepare: 'once' }
const commit: Statement = { name: 'commit', text: 'commit', prepare: 'once' }
const rollback: Statement = { name: 'rollback', text: 'rollback', prepare: 'once' }

/**
 * Returns transactions on the connections of a pool. COMMIT is pipelined after the last statement: where that failed,
 * the server rolls back instead. Where the response is lost, the transaction may be committed.
 * @param pool clients with pipelining
 */
export function pooledTransactions(pool: pg.Pool, toServerOutage: ToOutage): Pick<Database, 'transaction'> {
  const toOutage = classifyStatementError(toServerOutage)
  return {
    async transaction(work) {
      const client = await rejectWithOutage(pool.connect(), toOutage)
      const queue = new TransactionQueue(
        (statement, values) => rejectWithOutage(sendStatement(client, statement, values), toOutage),
        ({ text }, rows) => rejectWithOutage(copyRows(client, text, rows), toOutage),
      )
      try {
        // A statement that is sent before BEGIN has succeeded might run, and be committed, without a transaction.
        await queue.query(begin, [])
        const result = await work(queue)
        queue.send(commit, [])
        await queue.end()
        client.release()
        return result
      } catch (error) {
        await rollBack(client)
        // A statement without an answer may still run and hold locks: the server ends it once the connection is closed.
        client.release(error instanceof DatabaseUnavailable || client.getTransactionStatus() !== 'I')
        throw error
      }
    },
  }
}

/** Rolls back. Where that fails, the connection is still in a transaction, and the caller closes it. */
async function rollBack(client: pg.PoolClient): Promise<void> {
  await sendStatement(client, rollback, []).catch(() => undefined)
}

/** Sends a statement. Statements of one event-loop iteration leave in one packet. */
function sendStatement<Row>(client: pg.PoolClient, statement: Statement, values: readonly Value[]): Promise<Row[]> {
  const { name, text, prepare } = statement
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.cork()
  process.nextTick(() => stream.uncork())
  return rowsOf(client, { ...(prepare === 'once' && { name }), text, values: [...values] }) as Promise<Row[]>
}
