import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { feedText } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { commandLine } from '../support/process.ts'
import { strategy } from '../support/world.ts'

describe.runIf(postgresUrl !== undefined)('a PostgreSQL that refuses', () => {
  const homes = prepareHomes()
  const { run, start } = commandLine()
  let url: string
  let role: string
  let asRole: string

  const onDatabase = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  const migrated = async () => (await openDatabase({ engine: 'postgresql', url, connections: 2 })).close()

  beforeEach(async () => {
    url = await createOnServer(postgresUrl ?? '')
    role = `role_${new URL(url).pathname.slice(1)}`
    await onDatabase(`create role ${role} login password 'secret-of-role'`)
    asRole = Object.assign(new URL(url), { username: role, password: 'secret-of-role' }).toString()
    return () => onDatabase(`drop owned by ${role}; drop role ${role}`)
  })

  test('to create tables causes one line with role, database and remedy', async () => {
    const { status, stderr } = await run(['serve'], { DATABASE_URL: asRole, PORT: '0' })
    expect(stderr).toMatch(
      new RegExp(
        `^The role "${role}" can't migrate the database "\\w+", .*: permission denied for schema public.* GRANT CREATE .*\n$`,
      ),
    )
    expect(status).toBe(1)
  })

  test('to read the list of migrations causes one line, too', async () => {
    await migrated()
    const { status, stderr } = await run(['serve'], { DATABASE_URL: asRole, PORT: '0' })
    expect(stderr).toMatch(
      new RegExp(`^The role "${role}" .*permission denied for table _prisma_migrations.* GRANT SELECT .*\n$`),
    )
    expect(status).toBe(1)
  })

  test('migrations, since it has tables of another program, causes one line with database and remedy', async () => {
    await onDatabase('create table elsewhere (id int)')
    const { status, stderr } = await run(['serve'], { DATABASE_URL: url, PORT: '0' })
    expect(stderr).toMatch(
      /^The schema public of the database "\w+" has tables of another program: let DATABASE_URL name an empty database, or .*\n$/,
    )
    expect(status).toBe(1)
  })

  test('access to a schema causes remedies that name it', async () => {
    const asOwner = (sql: string): Promise<void> =>
      onDatabase(`create schema if not exists "Own"; set search_path = "Own"; ${sql}`)
    await asOwner(`alter role ${role} set search_path = "Own"`)
    const migration = await run(['migrate'], { DATABASE_URL: asRole })
    expect(migration.stderr).toMatch(
      new RegExp(
        `IN SCHEMA "Own", and USAGE ON SCHEMA "Own", TO "${role}"; or GRANT CREATE ON SCHEMA "Own" TO "${role}"`,
      ),
    )
    await asOwner(`grant usage, create on schema "Own" to ${role}`)
    expect(await run(['migrate'], { DATABASE_URL: asRole })).toMatchObject({ status: 0 })
    await asOwner(`revoke insert on all tables in schema "Own" from ${role}`)
    const feed = path.join(homes.folder, 'own.ndjson')
    await writeFile(feed, feedText([strategy('one')]))
    const { stderr } = await run(['ingest', feed], { DATABASE_URL: asRole })
    expect(stderr).toMatch(/permission denied for table \w+\. GRANT .* IN SCHEMA "Own", and USAGE ON SCHEMA "Own"\.\n$/)
  })

  test('to write, because it is empty and read-only, causes one line', async () => {
    await onDatabase(
      `alter role ${role} set default_transaction_read_only = on; grant create on schema public to ${role}`,
    )
    const { status, stderr } = await run(['serve'], { DATABASE_URL: asRole, PORT: '0' })
    expect(stderr).toMatch(
      new RegExp(`^The database "\\w+" lacks migrations .* read-only to the role "${role}": start once .*\n$`),
    )
    expect(status).toBe(1)
  })

  test('facts, for lack of a grant, stops the feed with one line', async () => {
    await migrated()
    await onDatabase(`grant select on all tables in schema public to ${role}`)
    const feed = path.join(homes.folder, 'feed.ndjson')
    await writeFile(feed, feedText([strategy('one')]))
    const { status, stderr } = await run(['ingest', feed], { DATABASE_URL: asRole })
    expect(stderr).toMatch(
      /(?:^|\n)PostgreSQL at \S+ refuses: permission denied for \w+ \w+\. GRANT its role SELECT, INSERT, .*\n$/,
    )
    expect(status).toBe(1)
  })

  test('a followed feed and its readers makes both wait, and continue after the grant', async () => {
    await migrated()
    const grants = `grant all on all tables in schema public to ${role}; grant usage on all sequences in schema public to ${role}`
    await onDatabase(grants)
    const feed = path.join(homes.folder, 'followed.ndjson')
    await writeFile(feed, feedText([strategy('one')]))
    const gateway = start(['serve', '--feed', feed], { DATABASE_URL: asRole, PORT: '0' })
    const [, base = ''] = await gateway.says(/Explorer {2}(http:\S+)\//)
    await onDatabase(`revoke all on strategy from ${role}`)
    await appendFile(feed, feedText([strategy('two')]))
    await gateway.says(
      /"msg":"The feed waits, and goes on by itself: PostgreSQL at \S+ refuses: permission denied for /,
    )
    const refused = await fetch(`${base}/strategies`)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await refused.json()).toMatchObject({ type: 'urn:vault-gateway:problem:database-unavailable' })
    await onDatabase(`grant select on strategy to ${role}`)
    const readiness = async (): Promise<unknown> => (await fetch(`${base}/ready`)).json()
    await expect
      .poll(readiness, { timeout: 10_000 })
      .toMatchObject({ detail: expect.stringMatching(/^The feed waits, since the database refuses/) as string })
    await onDatabase(grants)
    await gateway.says(/"msg":"The feed goes on"/)
    await expect.poll(readiness, { timeout: 10_000 }).toMatchObject({ status: 'ready' })
    const strategies = async (): Promise<unknown> => (await fetch(`${base}/strategies`)).json()
    await expect.poll(strategies).toMatchObject([{ id: 'one' }, { id: 'two' }])
  })

  test('to read the vaults does not end a start: the gateway is not ready', async () => {
    await migrated()
    await onDatabase(`grant select on all tables in schema public to ${role}; revoke select on vault from ${role}`)
    const gateway = start(['serve'], { DATABASE_URL: asRole, PORT: '0', DEMO: '0' })
    const [, base = ''] = await gateway.says(/Explorer {2}(http:\S+)\//)
    expect((await fetch(`${base}/ready`)).status).toBe(503)
    await onDatabase(`grant select on vault to ${role}`)
    await expect.poll(async () => (await fetch(`${base}/ready`)).status, { timeout: 10_000 }).toBe(200)
  })

  test('writes temporarily makes a feed wait, and continue', async () => {
    await migrated()
    await onDatabase(
      `grant all on all tables in schema public to ${role}; grant usage on all sequences in schema public to ${role}; alter role ${role} set default_transaction_read_only = on`,
    )
    const feed = path.join(homes.folder, 'waiting.ndjson')
    await writeFile(feed, feedText([strategy('one')]))
    const ingest = start(['ingest', feed], { DATABASE_URL: asRole })
    await ingest.says(/^PostgreSQL at \S+ is read-only: .* The feed waits, and goes on by itself/)
    await onDatabase(`alter role ${role} reset default_transaction_read_only`)
    const { status, stderr } = await ingest.ended
    expect(status, stderr).toBe(0)
  })

  test.each<[string, (url: URL) => unknown, RegExp]>([
    [
      'no such database',
      (url) => (url.pathname = '/no_such_database'),
      /^PostgreSQL at \S+ can't be used: database "no_such_database" does not exist\. .*\n$/,
    ],
    [
      'TLS',
      (url) => url.searchParams.set('sslmode', 'verify-full'),
      /^PostgreSQL at \S+ can't be used: The server does not support SSL connections\. .*\n$/,
    ],
  ])('since there is %s ends with one line', async (_what, change, expected) => {
    const changed = new URL(url)
    change(changed)
    const { status, stderr } = await run(['serve'], { DATABASE_URL: changed.toString(), PORT: '0' })
    expect(stderr).toMatch(expected)
    expect(status).toBe(1)
  })
})
