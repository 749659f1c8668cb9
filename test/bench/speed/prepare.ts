import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { openDatabase } from '../../../src/database/open.ts'
import { buildWorld, type RunSql, type WorldSize } from './world.ts'

/** A PostgreSQL database that contains a world. */
export interface PreparedPostgreSql {
  readonly url: string
  /** Version of the server, such as 15.20. */
  readonly version: string
  /** Unix seconds of the world's newest fact. */
  readonly newest: number
}

/**
 * Creates a database, named after the world's size, on a server, and builds a world in it. `bench:commits` imports this
 * function from checkouts of other commits: its name and parameters stay.
 * @param isKept whether to use the database if an earlier run has kept it
 */
export async function preparePostgreSql(server: string, size: WorldSize, isKept: boolean): Promise<PreparedPostgreSql> {
  const name = databaseName(size)
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).toString()
  const exists = await withClient(server, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (isKept && rowCount === 1) return true
    await client.query(`drop database if exists ${name} with (force)`)
    await client.query(`create database ${name}`)
    return false
  })
  await (await openDatabase({ engine: 'postgresql', url, connections: 2 })).close()
  return withClient(url, async (client) => {
    if (!exists) await timed('Building the world on PostgreSQL', () => buildWorld((sql) => client.query(sql), size))
    const { rows } = await client.query<{ version: string; newest: string }>(
      `select current_setting('server_version') as version, (select max(updated_at) from vault) as newest`,
    )
    return { url, version: (rows[0]?.version ?? '').split(' ')[0] ?? '', newest: Number(rows[0]?.newest) }
  })
}

/** Drops the database of a world of this size. */
export async function dropPostgreSql(server: string, size: WorldSize): Promise<void> {
  await withClient(server, (client) => client.query(`drop database ${databaseName(size)} with (force)`))
}

/** Builds a world in a data directory of PGlite. */
export async function preparePGlite(dataDir: string, size: WorldSize): Promise<void> {
  await (await openDatabase({ engine: 'pglite', dataDir })).close()
  const pglite = await PGlite.create(path.join(dataDir, 'pglite'))
  const run: RunSql = (sql) => pglite.exec(sql)
  await timed('Building the world on PGlite', () => buildWorld(run, size))
  await pglite.close()
}

function databaseName(size: WorldSize): string {
  return `speed_${Object.values(size).join('_')}`
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Runs some work, and prints the seconds that it took. */
async function timed(label: string, work: () => Promise<void>): Promise<void> {
  const begun = performance.now()
  process.stdout.write(`${label}: `)
  await work()
  console.log(`${((performance.now() - begun) / 1000).toFixed(1)} s`)
}
