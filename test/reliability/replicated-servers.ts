import pg from 'pg'
import { createOnServer } from '../support/database.ts'
import { type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { type Proxy, proxyTo } from '../support/proxy.ts'

/** A primary PostgreSQL server behind a proxy with a constant address, and an asynchronous standby. */
export interface ReplicatedServers {
  /** Creates a database, and returns its URL through the proxy. */
  createDatabase(): Promise<string>
  /** Returns the number of applied lines of the feed on the primary. */
  appliedLines(url: string): Promise<number>
  /** Forwards the responses of a number of commits through the proxy, and nothing afterwards; resolves when it has. */
  passCommits(count: number): Promise<void>
  /** Kills the primary, and restarts it. */
  restart(): Promise<void>
  /** Stops replication, so that the standby lags behind. */
  stallReplication(): void
  /**
   * Kills the primary, promotes the standby behind the same address, and creates a new standby.
   * @param beforePromotion called while the address leads to the standby, which is still read-only
   * @returns the number of committed lines of the feed that the new primary lacks
   */
  failOver(url: string, beforePromotion: () => Promise<unknown>): Promise<number>
  remove(): Promise<void>
}

/** Starts both servers and the proxy. */
export async function startReplicatedServers(): Promise<ReplicatedServers> {
  let primary = await startOwnPostgreSql()
  const proxy = await proxyTo(primary.url)
  let [standby, replication] = await createStandby(primary)
  return {
    createDatabase: () => createOnServer(proxy.url),
    appliedLines: (url) => appliedLinesOn(primary, url),
    passCommits: (count) => proxy.passCommits(count),
    async restart() {
      await primary.kill()
      await primary.start()
    },
    stallReplication: () => replication.stall(),
    async failOver(url, beforePromotion) {
      const committedLines = await appliedLinesOn(primary, url)
      await primary.kill()
      await replication.close()
      proxy.leadTo(standby.url)
      await beforePromotion()
      await standby.promote()
      const keptLines = await appliedLinesOn(standby, url)
      await primary.remove()
      primary = standby
      ;[standby, replication] = await createStandby(primary)
      return committedLines - keptLines
    },
    async remove() {
      await proxy.close()
      await replication.close()
      await standby.remove()
      await primary.remove()
    },
  }
}

/** Creates a standby, whose replication passes through a proxy. */
async function createStandby(primary: OwnPostgreSql): Promise<[OwnPostgreSql, Proxy]> {
  const replication = await proxyTo(primary.url)
  return [await primary.standby(replication.url), replication]
}

/** Returns the number of applied lines of the feed in a database of a server. */
async function appliedLinesOn(server: OwnPostgreSql, url: string): Promise<number> {
  const { pathname } = new URL(url)
  const client = new pg.Client({ connectionString: Object.assign(new URL(server.url), { pathname }).toString() })
  await client.connect()
  try {
    const { rows } = await client.query<{ line: string }>('select line from feed')
    return Number(rows[0]?.line ?? 0)
  } finally {
    await client.end()
  }
}
