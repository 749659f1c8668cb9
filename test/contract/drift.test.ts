import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drift, migrate } from '../../src/database/prisma/migrations.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { createDatabase, createOnServer, postgresUrl, type TestDatabase } from '../support/database.ts'

const root = path.resolve(import.meta.dirname, '../..')
const migrations = path.join(root, 'prisma/migrations')

describe('committed generated files', () => {
  test('are equal to the output of codegen.ts', async () => {
    expect(await checkCodegen(root)).toEqual({ code: 0, stderr: '' })
  })

  test('are reported with the command to run if they differ', async () => {
    const copy = await mkdtemp(path.join(tmpdir(), 'codegen-'))
    await copyFile(path.join(root, 'codegen.ts'), path.join(copy, 'codegen.ts'))
    for (const name of ['src', 'test', 'node_modules', 'package.json'])
      await symlink(path.join(root, name), path.join(copy, name))
    await writeFile(path.join(copy, 'schema.graphql'), 'type Query {\n  nothing: String\n}\n')
    const { code, stderr } = await checkCodegen(copy)
    await rm(copy, { recursive: true })
    expect(code).toBe(1)
    expect(stderr).toBe('schema.graphql is not what the schema says: run npm run codegen, and commit it\n')
  })

  test('is complete after one run, also where an enum has a new value', async () => {
    const copy = await mkdtemp(path.join(tmpdir(), 'codegen-'))
    // A symbolic link would lead to the files of the project: codegen.ts imports what it has written.
    for (const name of ['codegen.ts', 'src', 'test/contract'])
      await cp(path.join(root, name), path.join(copy, name), { recursive: true })
    for (const name of ['node_modules', 'package.json']) await symlink(path.join(root, name), path.join(copy, name))
    const documents = path.join(copy, 'src/rest/documents.generated.ts')
    const text = await readFile(documents, 'utf8')
    const older = text.replace("  Harvest: 'HARVEST',\n", '')
    expect(older).not.toBe(text)
    await writeFile(documents, older)
    expect(await runNode(copy, ['--import', 'tsx', 'codegen.ts'])).toEqual({ code: 0, stderr: '' })
    const client = 'test/contract/client.generated.ts'
    const written = await readFile(path.join(copy, client), 'utf8')
    await rm(copy, { recursive: true })
    expect(written).toBe(await readFile(path.join(root, client), 'utf8'))
  })
})

describe('the migrations', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createDatabase()
  })

  afterAll(() => database.close())

  test('create the schema of schema.prisma', async () => {
    expect(await drift()).toBe('')
  })

  test('lack a column that is added to schema.prisma', async () => {
    const datamodel = await readFile(path.join(root, 'prisma/schema.prisma'), 'utf8')
    const more = datamodel.replace('\nmodel Screen {\n', '\nmodel Screen {\n  remark String?\n')
    expect(more).not.toBe(datamodel)
    expect(await drift(more)).toBe('-- AlterTable\nALTER TABLE "screen" ADD COLUMN     "remark" TEXT;')
  })

  test("are finished in Prisma's table, with the checksums that its CLI computes", async () => {
    const entries = await readdir(migrations, { withFileTypes: true })
    const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
    expect(names).not.toEqual([])
    const finished = await Promise.all(
      names.map(async (name) => ({
        migration_name: name,
        checksum: sha256(await readFile(path.join(migrations, name, 'migration.sql'))),
        finished: true,
        rolled_back: false,
        applied_steps_count: 1,
      })),
    )
    expect(await appliedMigrations(database)).toEqual(finished)
  })

  test('are applied once, however often the database is opened', async () => {
    const before = await appliedMigrations(database)
    expect(await migrate(database)).toEqual([])
    expect(await appliedMigrations(database)).toEqual(before)
  })

  test.runIf(postgresUrl !== undefined)(
    'are applied once by several processes that start at the same time',
    async () => {
      const url = await createOnServer(postgresUrl ?? '')
      const outcomes = await Promise.all(Array.from({ length: 3 }, () => migrateInProcess(url)))
      expect(outcomes).toEqual(Array.from({ length: 3 }, () => ({ code: 0, stderr: '' })))
      const migrated = await openPostgreSql(url, 2)
      expect(await appliedMigrations(migrated)).toEqual(await appliedMigrations(database))
      expect(await migrate(migrated)).toEqual([])
      await migrated.close()
    },
  )

  test.runIf(postgresUrl !== undefined)('wait for another process that applies them', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const [first, second] = await Promise.all([openPostgreSql(url, 2), openPostgreSql(url, 2)])
    let migrating = Promise.resolve<string[]>([])
    await first.exclusively(async () => {
      migrating = migrate(second)
      const outcome = await Promise.race([migrating, waitForLockWaiter(first)])
      expect(outcome).toBe('lock waiter')
    })
    expect(await migrating).not.toEqual([])
    await Promise.all([first.close(), second.close()])
  })
})

/** Result of a process. */
interface ProcessResult {
  readonly code: number
  readonly stderr: string
}

function checkCodegen(folder: string): Promise<ProcessResult> {
  return runNode(folder, ['--import', 'tsx', 'codegen.ts', '--check'])
}

/** Starts a process that opens a database as the gateway does, which applies the migrations, and exits. */
function migrateInProcess(url: string): Promise<ProcessResult> {
  const open = pathToFileURL(path.join(root, 'src/database/open.ts')).href
  const script = `
    import { openDatabase } from ${JSON.stringify(open)}
    await (await openDatabase({ engine: 'postgresql', url: ${JSON.stringify(url)}, connections: 2 })).close()`
  return runNode(root, ['--import', 'tsx', '--input-type=module', '--eval', script])
}

/** Resolves when a session waits for an advisory lock that another one holds. */
async function waitForLockWaiter(database: Pick<TestDatabase, 'query'>): Promise<'lock waiter'> {
  const text = `select from pg_locks join pg_database on pg_database.oid = database
    where datname = current_database() and locktype = 'advisory' and not granted`
  for (;;) {
    if ((await database.query({ name: 'waiting', text }, [])).length > 0) return 'lock waiter'
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function runNode(cwd: string, args: readonly string[]): Promise<ProcessResult> {
  try {
    const { stderr } = await promisify(execFile)(process.execPath, args, { cwd })
    return { code: 0, stderr }
  } catch (error) {
    const { code, stderr } = error as ProcessResult
    return { code, stderr }
  }
}

function appliedMigrations(database: Pick<TestDatabase, 'query'>): Promise<object[]> {
  return database.query(
    {
      name: 'applied_migrations',
      text: `select migration_name, checksum, finished_at is not null as finished, rolled_back_at is not null as rolled_back,
          applied_steps_count
        from _prisma_migrations order by migration_name`,
    },
    [],
  )
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
