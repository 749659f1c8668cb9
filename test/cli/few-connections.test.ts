import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientOf } from '../reliability/client.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { commandLine } from '../support/process.ts'

const serverConnections = 20
const others = 12
const asked = 200
const why = noOwnPostgreSql === null ? '' : ` (skipped: ${noOwnPostgreSql})`

describe.skipIf(noOwnPostgreSql !== null)(
  `a gateway that may use more connections than its server has free${why}`,
  () => {
    const { start } = commandLine()
    let server: OwnPostgreSql
    beforeAll(async () => {
      server = await startOwnPostgreSql()
      await onServer((client) => client.query(`alter system set max_connections = ${serverConnections}`))
      await server.stop('fast')
      await server.start()
    }, 60_000)
    afterAll(() => server.remove())

    async function onServer(use: (client: pg.Client) => Promise<unknown>): Promise<void> {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      await use(client)
      await client.end()
    }

    test(
      'answers all requests on those that it gets, and logs once that it gets no more',
      { timeout: 60_000 },
      async () => {
        const gateway = start(['serve'], {
          ...{ DATABASE_URL: server.url, DATABASE_CONNECTIONS: '50', CACHE_MEGABYTES: '0', PORT: '0' },
          LOG_LEVEL: 'warn',
        })
        const [, port] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
        const [, vault] = await gateway.says(/\/vault\/(0x\w+)\/snapshot/)
        const held = await Promise.all(
          Array.from({ length: others }, async () => {
            const client = new pg.Client({ connectionString: server.url })
            await client.connect()
            return client
          }),
        )
        const client = clientOf(Number(port), asked)
        const get = async (target: string): Promise<number> => (await client.ask({ method: 'GET', target })).status
        const targets = Array.from({ length: asked }, (_, at) =>
          at % 2 === 0
            ? `/vault/${vault ?? ''}/snapshot?at=2000000000&${at}`
            : `/vault/${vault ?? ''}/events?since=${at}`,
        )
        const statuses = await Promise.all([...targets, '/ready'].map(get))
        client.close()
        await Promise.all(held.map((each) => each.end()))
        expect(statuses.filter((status) => status !== 200)).toEqual([])
        expect(gateway.said().match(/gives this process no more connections/g)).toHaveLength(1)
      },
    )
  },
)
