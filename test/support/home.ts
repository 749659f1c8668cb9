import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { type DatabaseChoice, openDatabase } from '../../src/database/open.ts'
import { createOnServer, postgresUrl } from './database.ts'

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

/** Prepares homes before the tests of a file, and removes them after. */
export function prepareHomes(): Homes {
  let folder = ''
  let count = 0
  const databases: string[] = []
  const inFolder = (dataDir: string) => ({ dataDir, ...homeOf({ DATA_DIR: dataDir }, { engine: 'pglite', dataDir }) })

  const fillTemplate = async (): Promise<string> => {
    const dataDir = path.join(folder, 'template')
    await (await inFolder(dataDir).open()).close()
    return dataDir
  }
  let template: Promise<string> | undefined

  const createInFolder = async () => {
    const dataDir = path.join(folder, `home-${++count}`)
    await cp(await (template ??= fillTemplate()), dataDir, { recursive: true })
    return inFolder(dataDir)
  }

  const onServer = async (server: string): Promise<Home> => {
    const url = await createOnServer(server, databases[0])
    databases.push(new URL(url).pathname.slice(1))
    return homeOf({ DATABASE_URL: url }, { engine: 'postgresql', url, connections: 5 })
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'homes-'))
    if (postgresUrl === undefined) await (template ??= fillTemplate())
    else await (await (await onServer(postgresUrl)).open()).close()
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
    if (postgresUrl !== undefined) await drop(postgresUrl, databases)
  })

  return {
    get folder() {
      return folder
    },
    create: () => (postgresUrl === undefined ? createInFolder() : onServer(postgresUrl)),
    createInFolder,
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
