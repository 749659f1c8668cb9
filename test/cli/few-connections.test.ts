import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../reliability/client.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { commandLine } from '../support/process.ts'

const serverConnections = 20
const requestCount = 200
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

    /** Opens all remaining connections of the server. */
    async function takeAll(): Promise<pg.Client[]> {
      const taken: pg.Client[] = []
      for (;;) {
        const client = new pg.Client({ connectionString: server.url })
        try {
          await client.connect()
          taken.push(client)
        } catch (error) {
          expect(error).toMatchObject({ code: '53300' })
          return taken
        }
      }
    }

    test('answers all requests on the available connections, and logs once that there are no more', async () => {
      const gateway = start(['serve'], {
        DATABASE_URL: server.url,
        DATABASE_CONNECTIONS: '50',
        CACHE_MEGABYTES: '0',
        PORT: '0',
        LOG_LEVEL: 'warn',
      })
      const [, port] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
      const [, vault] = await gateway.says(/\/vault\/(0x\w+)\/snapshot/)
      const taken = await takeAll()
      await taken.pop()?.end()
      const client = createClient(Number(port), requestCount)
      const get = async (target: string): Promise<number> => (await client.send({ method: 'GET', target })).status
      const paths = [`/vault/${vault ?? ''}/snapshot`, `/vault/${vault ?? ''}/equity`, `/vault/${vault ?? ''}/events`]
      const kinds = [...paths, `${paths[0] ?? ''}?at=2000000000`, '/strategies', '/universe', '/universe/pairs']
      const targets = Array.from({ length: requestCount }, (_, at) => kinds[at % kinds.length] ?? '')
      // Meanwhile reads wait, so that those of each kind need a connection of their own.
      await taken[0]?.query('begin; lock table vault, strategy, universe_asset, universe_pair')
      const answered = Promise.all(targets.map(get))
      await gateway.says(/gives this process no more connections/)
      await taken[0]?.query('rollback')
      const statuses = await answered
      // Its deadline is short: on a busy machine it may need several requests.
      await expect.poll(() => get('/ready')).toBe(200)
      client.close()
      await Promise.all(taken.map((each) => each.end()))
      expect(statuses.filter((status) => status !== 200)).toEqual([])
      expect(gateway.said().match(/gives this process no more connections/g)).toHaveLength(1)
    })
  },
)
