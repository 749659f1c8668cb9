import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type CountedConnection,
  connectionsWithin,
  createConnectionCounter,
  descriptorLimit,
} from '../../../src/http/server/connection-counter.ts'
import { createMetrics } from '../../../src/http/ops/metrics.ts'
import { reportOccasionally } from '../../../src/http/async/report-occasionally.ts'
import type { ServerOptions } from '../../../src/http/server/server.ts'
import { commandLine } from '../../support/process.ts'
import { parseMetrics } from '../../support/prometheus.ts'
import { type RawConnection, rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

let server: TestServer | undefined
const opened: RawConnection[] = []
afterEach(async () => {
  for (const { socket } of opened.splice(0)) socket.destroy()
  await server?.close()
  server = undefined
})

test('a connection that has closed is subtracted once, also where a stream is begun on it', () => {
  const limits = createConnectionCounter({ maxConnections: 8 })
  const admit = (): CountedConnection | null => limits.admit('192.0.2.1')
  const [first] = [admit(), admit(), admit(), admit()]
  expect(admit()).toBeNull()
  first?.leave()
  first?.countAsStream()
  first?.leave()
  expect(limits.open).toBe(3)
  expect([admit() === null, admit() === null]).toEqual([false, true])
})

interface Counted {
  /** Opens a connection from an address, and returns whether its request is answered; an answered one stays open. */
  readonly isAnswered: (from: string) => Promise<boolean>
  readonly figures: () => Promise<{ open: number; refused: number }>
}

/** Starts a server with this limit of open connections. */
async function allowing(connections: number, options: Partial<ServerOptions> = {}): Promise<Counted> {
  const metrics = createMetrics()
  const { onConnections, onRefused } = metrics
  const listener: ServerOptions['listener'] = (_, response) => Promise.resolve(void response.end('here'))
  const started = await serverOf({ listener }, { connections }, { onConnections, onRefused, ...options })
  server = started
  return {
    async isAnswered(from) {
      const connection = await rawConnection(started.port, from)
      connection.send(get)
      const isAnswered = await connection.receives(/here/).then(
        () => true,
        () => false,
      )
      if (isAnswered) opened.push(connection)
      return isAnswered
    },
    async figures() {
      const metricsText = parseMetrics(await metrics.text())
      const value = (name: string): number =>
        metricsText.get(`vault_gateway_connections_${name}`)?.samples[0]?.value ?? NaN
      return { open: value('open'), refused: value('refused_total') }
    },
  }
}

/** Opens connections, and prints their number when all are open, or after 20 s. */
const opener = `
  const [port, count] = process.argv.slice(1).map(Number)
  const end = () => process.exit(console.log(open))
  let open = 0
  const onConnect = () => ++open === count && end()
  for (let at = 0; at < count; at++) require('node:net').connect(port, '127.0.0.1').on('error', () => {}).on('connect', onConnect)
  setTimeout(end, 20_000)`

describe('connections', () => {
  test('are kept by the kernel while the event loop is busy, more of them than by default', async () => {
    server = await serverOf({ listener: () => Promise.resolve() })
    const byDefault = 511
    const count = byDefault + 200
    // The call blocks this process, so that it accepts no connection meanwhile.
    const printed = execFileSync(process.execPath, ['-e', opener, String(server.port), String(count)])
    expect(Number(printed)).toBe(count)
  })

  test('of one address are limited to half of the limit for all addresses', async () => {
    const { isAnswered, figures } = await allowing(4)
    const from = ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']
    const answered: boolean[] = []
    for (const address of from) answered.push(await isAnswered(address))
    expect(answered).toEqual([true, true, false, true, true, false])
    expect(await figures()).toEqual({ open: 4, refused: 2 })
  })

  test('of dozens of addresses leave some for another one', () => {
    const limits = createConnectionCounter({ maxConnections: 1_000 })
    for (let address = 1; address <= 44; address++) while (limits.admit(`192.0.2.${address}`) !== null);
    expect(limits.admit('198.51.100.1')).not.toBeNull()
  })

  test('of one IPv6 network of many senders are a fair share of what the others leave', () => {
    const limits = createConnectionCounter({ maxConnections: 100 })
    const ofNetwork = (network: number) =>
      Array.from({ length: 90 }, (_, at) => limits.admit(`2001:db8:${network}:${at}::1`)).filter((one) => one !== null)
    const [first, second] = [ofNetwork(1), ofNetwork(2)]
    expect([first.length, second.length]).toEqual([50, 13])
    for (const one of first.slice(0, 20)) one.leave()
    expect(ofNetwork(1)).toHaveLength(8)
  })

  test('that close free capacity for others', async () => {
    const { isAnswered, figures } = await allowing(2)
    for (let times = 1; times <= 3; times++) {
      expect([await isAnswered('127.0.0.1'), await isAnswered('127.0.0.1')]).toEqual([true, false])
      for (const { socket } of opened.splice(0)) socket.destroy()
      await expect.poll(figures).toEqual({ open: 0, refused: times })
    }
  })

  test('of a proxy may reach the limit for all addresses', async () => {
    const { isAnswered } = await allowing(3, { isBehindProxies: true })
    const answered: boolean[] = []
    for (let count = 0; count < 4; count++) answered.push(await isAnswered('127.0.0.1'))
    expect(answered).toEqual([true, true, true, false])
  })

  test.each([
    [10_000, 0, 1_000_000, 10_000],
    [10_000, 0, 1_024, 768],
    [10_000, 100, 1_024, 668],
    [10_000, 1_000, 1_024, 512],
    [10_000, 0, 256, 128],
    [100, 0, 1_024, 100],
    [10_000, 0, 1, 1],
    [10_000, 0, null, 10_000],
  ])('are %i, with %i descriptors elsewhere and %s in all, at most %i', (most, elsewhere, limit, expected) => {
    expect(connectionsWithin(most, elsewhere, limit)).toBe(expected)
  })
})

test('the first refusal is reported immediately, later ones as sums', () => {
  vi.useFakeTimers()
  try {
    const reported: number[] = []
    const happens = reportOccasionally((count) => reported.push(count), 1_000)
    for (let times = 0; times < 5; times++) happens()
    expect(reported).toEqual([1])
    vi.advanceTimersByTime(1_000)
    expect(reported).toEqual([1, 4])
    vi.advanceTimersByTime(5_000)
    expect(reported).toEqual([1, 4])
    happens()
    expect(reported).toEqual([1, 4, 1])
  } finally {
    vi.useRealTimers()
  }
})

describe.skipIf(descriptorLimit() === null)('with few file descriptors', () => {
  const { start } = commandLine()

  test('idle connections leave the descriptors that the gateway needs, and other addresses are answered', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'descriptors-'))
    const gateway = start(['serve'], { PORT: '0', DATA_DIR: folder, HOST: '127.0.0.1' }, 256)
    const [, port] = await gateway.says(/"port":(\d+),"engine"/)
    for (let count = 0; count < 600; count++) opened.push(await rawConnection(Number(port)))
    await gateway.says(/"count":\d+,"msg":"Connections are closed at once/)
    for (const target of ['/ready', '/strategies', '/universe']) {
      const connection = await rawConnection(Number(port), '127.0.0.2')
      connection.send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 /)
    }
    expect(gateway.said().match(/Connections are closed at once/g)).toHaveLength(1)
    gateway.kill('SIGKILL')
    await gateway.ended
    await rm(folder, { recursive: true })
  })
})
