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

/** Where processes of the command line keep their data, on the engine that the suite runs on. */
export interface Home {
  /** The variables that lead a process there. */
  readonly env: Readonly<Record<string, string>>
  /** Opens it in this process; nobody else may have it open, and the caller closes it. */
  open(): Promise<Database>
}

/** Homes with all migrations and no rows: copies of one, for the first start of a database takes seconds. */
export interface Homes {
  /** A folder for feeds and other files. */
  readonly folder: string
  create(): Promise<Home>
  /** One in a folder, whatever the engine of the suite. */
  createInFolder(): Promise<Home & { readonly dataDir: string }>
}

/** Homes that the caller removes. */
export interface OpenHomes extends Homes {
  remove(): Promise<void>
}

/** Prepares homes before the tests of a file, and removes them after. */
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

/** @param server the PostgreSQL that the homes are databases of; without one they are folders of PGlite's */
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
