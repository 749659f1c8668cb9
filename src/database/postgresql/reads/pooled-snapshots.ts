import type pg from 'pg'
import { throwIfCancelled, untilCancelled } from '../../cancellation.ts'
import type { Cancellation } from '../../cancellation.ts'
import type { Snapshots, VersionedReader } from '../../database.ts'
import { ReadCancelled, RecoveryConflict } from '../../errors.ts'
import { rowsOf, stopMilliseconds, finishesWithin } from './pipeline.ts'
import { sendCancelRequest } from './cancel-request.ts'
import { toDatabaseError } from './read-errors.ts'
import type { ReadPools } from './pooled-reads.ts'
import { SnapshotReads } from '../../snapshot-reads.ts'

const begin: pg.QueryConfig = { name: 'begin_snapshot', text: 'begin isolation level repeatable read read only' }
const commit: pg.QueryConfig = { name: 'end_snapshot', text: 'commit' }
/** Share of the connections for short reads that snapshots may have: the others serve all reads without one. */
const shareOfSnapshots = 0.75

/** Returns how many snapshots may run at once within a number of connections for short reads: all of them only where there is one. */
export function snapshotsWithin(connections: number): number {
  return Math.max(1, Math.floor(connections * shareOfSnapshots))
}

/**
 * Returns snapshots on the connections of a pool: each is a read-only transaction whose reads are pipelined. The caller
 * limits the number of those without long reads. A snapshot that meets a recovery conflict of a standby, which cancels its statement or closes its
 * connection between two reads, is retried once.
 * @see PostgreSQL documentation, "Transaction Isolation", section "Repeatable Read Isolation Level"
 * @see PostgreSQL documentation, "Hot Standby", section "Handling Query Conflicts"
 */
export function pooledSnapshots({ short, long }: ReadPools): Snapshots {
  return {
    snapshotsAtOnce: snapshotsWithin(short.options.max),
    async snapshot(work, signal, isLong = false) {
      const pool = isLong ? long : short
      const first = await tryOnce(pool, work, signal)
      const { outcome } = first.isInConflict ? await tryOnce(pool, work, signal) : first
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
  }

  async function tryOnce<Result>(
    pool: pg.Pool,
    work: (reader: VersionedReader) => Promise<Result>,
    signal: Cancellation | undefined,
  ): Promise<{ readonly isInConflict: boolean; readonly outcome: PromiseSettledResult<Result> }> {
    throwIfCancelled(signal)
    const connecting = pool.connect()
    let closed: Error | undefined
    const onClosed = (reason: Error): void => void (closed ??= reason)
    connecting.then(
      (client) => client.on('error', onClosed),
      () => undefined,
    )
    const beginning = connecting.then((client) => rowsOf(client, begin))
    // Each read reports the error of BEGIN. Without reads, its rejection would be unhandled.
    beginning.catch(() => undefined)
    const reads = new SnapshotReads(async ({ name, text }, values) => {
      try {
        const sent = connecting.then((client) => rowsOf(client, { name, text, values: [...values] }))
        const [, rows] = await untilCancelled(Promise.all([beginning, sent]), signal)
        return rows
      } catch (error) {
        // A read on a closed connection fails without the server's reason for closing it.
        const reason = toDatabaseError(closed)
        throw reason instanceof RecoveryConflict && !(error instanceof ReadCancelled) ? reason : toDatabaseError(error)
      }
    })
    try {
      const [outcome] = await Promise.allSettled([untilCancelled(work(reads), signal)])
      return { isInConflict: reads.isInConflict, outcome }
    } finally {
      reads.end()
      // The response does not wait for the end of its transaction.
      connecting.then((client) => endSnapshot(client.off('error', onClosed))).catch(() => undefined)
    }
  }
}

/** Ends the transaction and releases its connection; one that does not end in time is cancelled and closed. */
async function endSnapshot(client: pg.PoolClient): Promise<void> {
  const isEnded = rowsOf(client, commit).then(
    () => true,
    () => false,
  )
  if (await finishesWithin(stopMilliseconds, isEnded)) return client.release()
  // Behind PgBouncer, closing the connection first would invalidate its cancel key, and the statement would continue.
  await finishesWithin(
    stopMilliseconds,
    sendCancelRequest(client, stopMilliseconds).then((isSent) => isSent && isEnded),
  )
  client.connection.stream.destroy()
  client.release(true)
}
