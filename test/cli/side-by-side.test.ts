import { describe, expect, test } from 'vitest'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { commandLine } from '../support/process.ts'

const gateways = 3

describe.runIf(postgresUrl !== undefined)('gateways on one PostgreSQL', () => {
  const { start, run } = commandLine()

  test('start concurrently on an empty database, share the demo feed, and serve facts of another process', async () => {
    const env = { DATABASE_URL: await createOnServer(postgresUrl ?? ''), PORT: '0' }
    const running = Array.from({ length: gateways }, () => start(['serve'], env))
    const bases = await Promise.all(
      running.map(async ({ says }) => (await says(/GraphiQL {2}(http:\/\/\S+)\/graphql/))[1] ?? ''),
    )
    const strategies = (base: string) =>
      fetch(`${base}/strategies`).then(async (answer) =>
        ((await answer.json()) as { id: string }[]).map(({ id }) => id),
      )
    const demo = await Promise.all(bases.map(strategies))
    expect(demo).toEqual(bases.map(() => ['eth-core', 'eth-tight', 'eth-wide']))

    const fact = { kind: 'strategy', ts: 1_600_000_000, id: 'later', name: 'Later', tagline: '', description: '' }
    const { status, stderr } = await run(['ingest', '-'], env, JSON.stringify(fact))
    expect({ status, stderr }).toMatchObject({ status: 0 })
    for (const ids of await Promise.all(bases.map(strategies))) expect(ids).toContain('later')
  })
})
