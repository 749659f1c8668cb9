import { setTimeout as wait } from 'node:timers/promises'
import type { ChangeListener, CommitReports } from '../../commits/change-listener.ts'
import type { Database } from '../../database.ts'
import { listenOnPostgreSql } from '../listen.ts'
import { eachPool, openReadPools, poolsOf, readsOn, type Warn } from '../read-pools.ts'
import type { Replica } from './replica.ts'
import { replicaTiming } from './timing.ts'

/** The server that is read from, with its connections for reads. */
export interface ReadServer extends Pick<Database, 'read' | 'snapshot'> {
  readonly replica: Replica
  /** Reports its commits to a listener. */
  listen(listener: ChangeListener): CommitReports
  /** Closes the connections when the reads that run have ended. */
  end(): Promise<void>
  /** Closes the connections, and fails the reads that run on them or wait for one. */
  destroy(): Promise<void>
}

/**
 * Opens connections for reads to a server; they connect with the first read.
 * @param connections maximum number of them
 */
export function openReadServer(replica: Replica, connections: number, warn: Warn): ReadServer {
  const { url } = replica
  const pool = poolsOf(url, connections, warn)
  const pools = openReadPools(pool, connections)
  let ended: Promise<void> | null = null
  const end = (): Promise<void> =>
    (ended ??= Promise.all(eachPool(pools).map((pool) => pool.end())).then(() => undefined))
  return {
    replica,
    ...readsOn(pools),
    listen: (listener) => listenOnPostgreSql({ url, pool, lenders: pools.lenders, warn }, listener),
    end,
    destroy() {
      for (const pool of pools.lenders) pool.destroy()
      return end()
    },
  }
}

/** Closes the connections to a server that is left: immediately where it is lost, else after its reads have ended. */
export async function leave(server: ReadServer): Promise<void> {
  if (server.replica.isLost) return server.destroy()
  await wait(replicaTiming.drainSeconds * 1000, undefined, { ref: false })
  await server.end()
}
