import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { type DatabaseChoice, openDatabase } from '../../src/database/open.ts'
import { clusterFolderName } from '../../src/database/pglite/data-directory.ts'
import { createOnServer, embeddedTemplate, postgresUrl, templateOn } from './database.ts'

/** A database for processes of the command line: a data directory of PGlite, or a database on a PostgreSQL server. */
export interface Home {
  /** Environment variables by which a process finds it. */
  readonly env: Readonly<Record<string, string>>
  /** Opens it in this process; no other process may have it open, and the caller closes it. */
  open(): Promise<Database>
}

/** Creates homes with all migrations and no rows: copies of a template, since the first start of a database takes seconds. */
export interface Homes {
  /** A temporary folder for feeds and other files. */
  readonly folder: string
  /** Creates a home on the engine that the tests run on. */
  create(): Promise<Home>
  /** Creates a home with a data directory of PGlite. */
  createInFolder(): Promise<Home & { readonly dataDir: string }>
}

/** Homes that the caller must remove. */
export interface OpenHomes extends Homes {
  /** Removes the folder and all databases. */
  remove(): Promise<void>
}

/** Registers hooks that prepare homes before the tests of a file, and remove them afterwards. */
export function prepareHomes(): Homes {
  let homes: OpenHomes
  beforeAll(async () => {
    homes = await openHomes(postgresUrl)
  })
  afterAll(() => homes.remove())
  return {
    get folder() {
      return homes.folder
    },
    create: () => homes.create(),
    createInFolder: () => homes.createInFolder(),
  }
}

/**
 * Prepares homes.
 * @param server address of a PostgreSQL server for their databases; undefined for data directories of PGlite
 */
export async function openHomes(server: string | undefined): Promise<OpenHomes> {
  const folder = await mkdtemp(path.join(tmpdir(), 'homes-'))
  const databases: string[] = []
  const isOfSuite = server === postgresUrl
  let count = 0
  const inFolder = (dataDir: string) => ({ dataDir, ...homeOf({ DATA_DIR: dataDir }, { engine: 'pglite', dataDir }) })

  const fillTemplate = async (): Promise<string> => {
    const dataDir = path.join(folder, 'template')
    await mkdir(dataDir)
    const cluster = path.join(dataDir, clusterFolderName)
    const pglite = await PGlite.create({ dataDir: cluster, loadDataDir: await embeddedTemplate() })
    await pglite.close()
    return dataDir
  }
  let template: Promise<string> | undefined

  const createInFolder = async () => {
    const dataDir = path.join(folder, `home-${++count}`)
    await cp(await (template ??= fillTemplate()), dataDir, { recursive: true })
    return inFolder(dataDir)
  }

  const onServer = async (address: string): Promise<Home> => {
    const url = await createOnServer(address, isOfSuite ? await templateOn(address) : databases[0])
    databases.push(new URL(url).pathname.slice(1))
    return homeOf({ DATABASE_URL: url }, { engine: 'postgresql', url, connections: 5 })
  }

  if (server === undefined) await (template ??= fillTemplate())
  else if (!isOfSuite) await (await (await onServer(server)).open()).close()

  return {
    folder,
    create: () => (server === undefined ? createInFolder() : onServer(server)),
    createInFolder,
    async remove() {
      await rm(folder, { recursive: true })
      if (server !== undefined) await drop(server, databases)
    },
  }
}

function homeOf(env: Record<string, string>, choice: DatabaseChoice): Home {
  return { env, open: () => openDatabase(choice) }
}

async function drop(url: string, databases: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const name of databases) await client.query(`drop database ${name} with (force)`)
  await client.end()
}
