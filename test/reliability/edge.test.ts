import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { defaultHttpLimits } from '../../src/limits.ts'
import { gatewayOn } from '../support/gateway.ts'
import { prepareHomes } from '../support/home.ts'
import { rawConnection } from '../support/raw.ts'
import { serverOf } from '../support/server.ts'
import { addressOf, apply, deposit, midnight, opened, strategy } from '../support/world.ts'
import { edge } from './edge.ts'
import { noNginx, startNginx } from './nginx.ts'
import { ignoreProgress } from './program-result.ts'

const homes = prepareHomes()

test.skipIf(noNginx !== null)(
  `nginx answers most requests with data within the age limit, and all requests while the gateway is stopped${noNginx === null ? '' : ` (${noNginx})`}`,
  async () => {
    const { measurements, violations } = await edge({
      homes,
      vaults: 3,
      edgeSeconds: 3,
      seconds: 6,
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
    // Without commits during the load, no response could be outdated.
    expect(measurements['commits during the load']).toBeGreaterThan(0)
  },
)

test.skipIf(noNginx !== null)(
  `nginx does not cache the response to several Accept headers under the first of them${noNginx === null ? '' : ` (${noNginx})`}`,
  async () => {
    const database = await (await homes.create()).open()
    const vault = addressOf(1)
    await apply(database, [strategy('calm'), opened(vault, 'calm'), deposit(vault, midnight, '1000')])
    const server = await serverOf(gatewayOn(database, { edgeSeconds: 60 }).app)
    const nginx = await startNginx(server.port)
    const responseTo = async (...accepted: readonly string[]): Promise<string> => {
      const connection = await rawConnection(Number(new URL(nginx.origin).port))
      const lines = accepted.map((accept) => `Accept: ${accept}\r\n`).join('')
      connection.send(`GET /vault/${vault}/equity HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`)
      return connection.closed
    }
    try {
      expect(await responseTo('*/*', 'text/csv')).toContain('X-Cache-Status: MISS')
      expect(await responseTo('*/*')).toContain('Content-Type: application/json')
    } finally {
      await nginx.remove()
      await server.close()
      await database.close()
    }
  },
)

test.skipIf(noNginx !== null)(
  `nginx answers and caches requests with targets and Accept headers of the maximum length${noNginx === null ? '' : ` (${noNginx})`}`,
  async () => {
    const database = await (await homes.create()).open()
    await apply(database, [strategy('calm')])
    const server = await serverOf(gatewayOn(database, { edgeSeconds: 60 }).app)
    const nginx = await startNginx(server.port)
    const path = '/strategies?'.padEnd(defaultHttpLimits.targetBytes, 'x')
    const headers = { accept: 'a/b,'.repeat(2_000) }
    try {
      const cacheable = [await fetch(nginx.origin + path), await fetch(nginx.origin + path, { headers })]
      expect(cacheable.map(({ status }) => status)).toEqual([200, 200])
      expect((await fetch(nginx.origin + path)).headers.get('x-cache-status')).toBe('HIT')
      expect((await fetch(`${nginx.origin + path}${'x'.repeat(900)}`)).status).toBe(414)
    } finally {
      await nginx.remove()
      await server.close()
      await database.close()
    }
  },
)

test.skipIf(noNginx !== null)(
  `nginx forwards equal requests for uncacheable responses concurrently${noNginx === null ? '' : ` (${noNginx})`}`,
  async () => {
    const held: ServerResponse[] = []
    const gateway = createServer(({ url }, response) => {
      if (url === '/held') held.push(response)
      else response.setHeader('cache-control', 'no-cache').end()
    }).listen(0, '127.0.0.1')
    await once(gateway, 'listening')
    const nginx = await startNginx((gateway.address() as AddressInfo).port)
    try {
      const equal = [fetch(`${nginx.origin}/held`), fetch(`${nginx.origin}/held`)]
      // Each of these requests completes after the equal ones have reached nginx.
      for (let others = 0; others < 200 && held.length < 2; others++) await fetch(`${nginx.origin}/other`)
      expect(held).toHaveLength(2)
      for (const response of held) response.setHeader('cache-control', 'no-cache').end()
      expect((await Promise.all(equal)).map(({ status }) => status)).toEqual([200, 200])
    } finally {
      await nginx.remove()
      gateway.close()
      gateway.closeAllConnections()
    }
  },
)
