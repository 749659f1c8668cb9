import type { Writable } from 'node:stream'
import type pg from 'pg'
import type { Database, Statement, Value } from '../database.ts'
import { told, type OutageOf } from '../errors.ts'
import { rowsOf } from './pipeline.ts'
import { TransactionQueue } from '../transaction-queue.ts'
import { DatabaseUnavailable } from '../errors.ts'

const begin: Statement = { name: 'begin', text: 'begin', hasOnePlan: true }
const commit: Statement = { name: 'commit', text: 'commit', hasOnePlan: true }
const rollback: Statement = { name: 'rollback', text: 'rollback', hasOnePlan: true }

/**
 * Transactions on the connections of a pool. The commit follows what was sent last at once: where that fails, the server
 * makes a rollback of it; where its answer is lost, it may be committed.
 * @param pool of clients that pipeline
 */
export function pooledTransactions(pool: pg.Pool, outageOf: OutageOf): Pick<Database, 'transaction'> {
  return {
    async transaction(work) {
      const client = await told(pool.connect(), outageOf)
      const sending = new TransactionQueue((statement, values) => told(sent(client, statement, values), outageOf))
      try {
        sending.send(begin, [])
        const result = await work(sending)
        sending.send(commit, [])
        await sending.end()
        client.release()
        return result
      } catch (error) {
        await undone(sending)
        // A statement that has no answer may still run, and hold its locks: with its connection the server ends it.
        client.release(error instanceof DatabaseUnavailable)
        throw error
      }
    },
  }
}

function undone(sending: TransactionQueue): Promise<void> {
  sending.send(rollback, [])
  return sending.end().catch(() => undefined)
}

/** What is sent before the next turn leaves in one packet. */
function sent<Row>(client: pg.PoolClient, statement: Statement, values: readonly Value[]): Promise<Row[]> {
  const { name, text, hasOnePlan = false } = statement
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.cork()
  process.nextTick(() => stream.uncork())
  return rowsOf(client, { ...(hasOnePlan && { name }), text, values: [...values] }) as Promise<Row[]>
}
