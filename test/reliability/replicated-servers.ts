import pg from 'pg'
import { createOnServer } from '../support/database.ts'
import { type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { type Proxy, proxyTo } from '../support/proxy.ts'

/** A primary, behind an address that leads to whichever server is the primary, and a standby that follows it. */
export interface ReplicatedServers {
  /** A new database, by the address that stays. */
  createDatabase(): Promise<string>
  /** How far a feed is on the primary, in lines. */
  appliedLines(url: string): Promise<number>
  /** Lets so many commits be answered by the address that stays, and nothing after them; resolves when they are. */
  passCommits(count: number): Promise<void>
  /** Kills the primary, and starts it again. */
  restart(): Promise<void>
  /** Keeps the standby from hearing what the primary commits from now on. */
  stallReplication(): void
  /**
   * Kills the primary, makes the standby the primary behind the same address, and gives it a standby of its own.
   * @param readOnlyFirst whether the address leads to the standby for a while before it takes writes
   * @returns how many lines of the feed the new primary lacks of those that were committed
   */
  failOver(url: string, beforePromotion: () => Promise<unknown>): Promise<number>
  remove(): Promise<void>
}

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

async function createStandby(primary: OwnPostgreSql): Promise<[OwnPostgreSql, Proxy]> {
  const replication = await proxyTo(primary.url)
  return [await primary.standby(replication.url), replication]
}

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
