import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { ReadCancelled, throwIfCancelled, untilCancelled } from './cancelled.ts'
import type { Cancellation } from './cancellation.ts'
import type { Database, Statement, Value } from './database.ts'
import { DatabaseUnavailable, isUnavailable } from './unavailable.ts'
import { unpacked } from './unpacked.ts'

/** A read that ends in so many milliseconds by itself is cheaper than telling the server to stop. */
const graceMilliseconds = 100
/** A server that doesn't stop a read in so many more is not heard of: the connection is thrown away. */
const stopMilliseconds = 1_000

/** What the server says of a statement that was cancelled, or took longer than `statement_timeout`. */
const queryCancelled = '57014'

/**
 * Reads by the connections of a pool. A read that is cancelled is stopped on the server too.
 * @param control a pool that tells the server what to stop
 */
export function pooledReader(pool: pg.Pool, control: pg.Pool): Pick<Database, 'query'> {
  return {
    async query<Row>(statement: Statement, values: readonly Value[], signal?: Cancellation) {
      const { name, text } = statement
      throwIfCancelled(signal)
      try {
        const client = await connect(pool, signal)
        const rows = await read(client, { name, text, values: [...values] }, control, signal)
        return unpacked<Row>(statement, rows)
      } catch (error) {
        throw explained(error)
      }
    },
  }
}

async function connect(pool: pg.Pool, signal: Cancellation | undefined): Promise<pg.PoolClient> {
  const connecting = pool.connect()
  try {
    return await untilCancelled(connecting, signal)
  } catch (error) {
    // The turn that nobody waits for any more comes yet, and is passed on.
    if (error instanceof ReadCancelled) connecting.then((client) => client.release()).catch(() => undefined)
    throw error
  }
}

/** Gives the connection back when the read has ended, or has been stopped; a broken one is thrown away. */
async function read(
  client: pg.PoolClient,
  statement: pg.QueryConfig,
  control: pg.Pool,
  signal: Cancellation | undefined,
): Promise<unknown[]> {
  const running = rowsOf(client, statement)
  try {
    const rows = await untilCancelled(running, signal)
    client.release()
    return rows
  } catch (error) {
    if (error instanceof ReadCancelled) void stop(client, running, control)
    else client.release(explained(error) instanceof DatabaseUnavailable)
    throw error
  }
}

/** By a callback: what pg gives as a promise keeps its rows from being garbage until the old garbage is looked for. */
export function rowsOf(client: pg.PoolClient, statement: pg.QueryConfig): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    client.query(statement, (error: Error | null, result: pg.QueryResult) => {
      if (error === null) resolve(result.rows as unknown[])
      else reject(error)
    })
  })
}

/** The connection is kept from others until the server has done so, lest it stops a read of theirs. */
async function stop(client: pg.PoolClient, running: Promise<unknown>, control: pg.Pool): Promise<void> {
  const ended = running.then(isSo, isSo)
  if (await within(graceMilliseconds, ended)) return client.release()
  const { processID } = client as unknown as { processID: number }
  const told = control.query('select pg_cancel_backend($1)', [processID])
  const isStopped = Promise.all([ended, told]).then(isSo, () => false)
  client.release(!(await within(stopMilliseconds, isStopped)))
}

const isSo = (): boolean => true

function within(milliseconds: number, work: Promise<boolean>): Promise<boolean> {
  return Promise.race([work, wait(milliseconds, false)])
}

/** What isn't the server's own word is of the connection to it, unless this code is at fault. */
function explained(error: unknown): unknown {
  if (error instanceof ReadCancelled || error instanceof TypeError || error instanceof RangeError) return error
  if (!(error instanceof pg.DatabaseError)) return new DatabaseUnavailable(error)
  if (error.code === queryCancelled) return new ReadCancelled(error)
  return isUnavailable(error) ? new DatabaseUnavailable(error) : error
}
