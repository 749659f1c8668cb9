import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import type { Database } from '../../database.ts'
import { eachPool, openReadPools, poolsOf, readsOn, type Warn } from '../read-pools.ts'
import type { Replica } from './replica.ts'
import { replicaTiming } from './timing.ts'

/** The server that is read from, with its connections for reads. */
export interface ReadServer extends Pick<Database, 'read' | 'snapshot'> {
  readonly replica: Replica
  /** Closes the connections when the reads that run have ended. */
  end(): Promise<void>
  /** Closes the connections, and fails the reads that run on them. */
  destroy(): Promise<void>
}

/**
 * Opens connections for reads to a server; they connect with the first read.
 * @param connections maximum number of them
 */
export function openReadServer(replica: Replica, connections: number, warn: Warn): ReadServer {
  const pools = openReadPools(poolsOf(replica.url, connections, warn), connections)
  const each = eachPool(pools)
  const open = new Set<pg.PoolClient>()
  for (const pool of each) {
    pool.on('connect', (client) => void open.add(client))
    pool.on('remove', (client) => void open.delete(client))
  }
  let ended: Promise<void> | null = null
  const end = (): Promise<void> => (ended ??= Promise.all(each.map((pool) => pool.end())).then(() => undefined))
  return {
    replica,
    ...readsOn(pools),
    end,
    destroy() {
      for (const client of open) client.connection.stream.destroy()
      return end()
    },
  }
}

/** Closes the connections to a server that is left: at once where it is lost, else after its reads have ended. */
export async function leave(server: ReadServer): Promise<void> {
  if (server.replica.isLost) return server.destroy()
  await wait(replicaTiming.drainSeconds * 1000, undefined, { ref: false })
  await server.end()
}
