import type pg from 'pg'
import { throwIfCancelled, untilCancelled } from '../cancellation.ts'
import type { Cancellation } from '../cancellation.ts'
import type { Snapshots, VersionedReader } from '../database.ts'
import { explained, rowsOf, stopMilliseconds, finishesWithin } from './pipeline.ts'
import type { ReadPools } from './pooled-reads.ts'
import { SnapshotReads } from '../snapshot-reads.ts'

const begin: pg.QueryConfig = { name: 'begin_snapshot', text: 'begin isolation level repeatable read read only' }
const commit: pg.QueryConfig = { name: 'end_snapshot', text: 'commit' }

/**
 * Snapshots on the connections of a pool, one each: a read-only transaction whose reads are sent one behind the other.
 * The pool bounds how many there are at once, the others wait for a connection as reads do. One that meets a recovery
 * conflict of a standby is taken anew, once.
 */
export function pooledSnapshots({ short, unbounded, control }: ReadPools): Snapshots {
  return {
    async snapshot(work, signal, isUnbounded = false) {
      const pool = isUnbounded ? unbounded : short
      const first = await once(pool, work, signal)
      return (first.isInConflict ? await once(pool, work, signal) : first).result()
    },
  }

  async function once<Result>(
    pool: pg.Pool,
    work: (reader: VersionedReader) => Promise<Result>,
    signal: Cancellation | undefined,
  ): Promise<{ readonly isInConflict: boolean; readonly result: () => Result }> {
    throwIfCancelled(signal)
    const connecting = pool.connect()
    const beginning = connecting.then((client) => rowsOf(client, begin))
    // Each read tells why there is none; there may be no read.
    beginning.catch(() => undefined)
    const reads = new SnapshotReads(async ({ name, text }, values) => {
      try {
        const sent = connecting.then((client) => rowsOf(client, { name, text, values: [...values] }))
        const [, rows] = await untilCancelled(Promise.all([beginning, sent]), signal)
        return rows
      } catch (error) {
        throw explained(error)
      }
    })
    try {
      const result = await untilCancelled(work(reads), signal)
      return { isInConflict: reads.isInConflict, result: () => result }
    } catch (error) {
      const fail = (): never => {
        throw error
      }
      return { isInConflict: reads.isInConflict, result: fail }
    } finally {
      reads.end()
      // The answer doesn't wait for the end of what it was read in.
      connecting.then((client) => ended(client, control)).catch(() => undefined)
    }
  }
}

/** Ends the transaction and gives its connection back, clean; one that doesn't end soon is stopped and thrown away. */
async function ended(client: pg.PoolClient, control: pg.Pool): Promise<void> {
  const isEnded = rowsOf(client, commit).then(
    () => true,
    () => false,
  )
  if (await finishesWithin(stopMilliseconds, isEnded)) return client.release()
  const { processID } = client as unknown as { processID: number }
  control.query('select pg_cancel_backend($1)', [processID]).catch(() => undefined)
  client.connection.stream.destroy()
  client.release(true)
}
