import { setImmediate as nextIteration } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { Turns } from '../../../src/http/async/turns.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import type { OutgoingResponse } from '../../../src/http/cache/encoded-response.ts'
import { createAwaitVersion } from '../../../src/http/middleware/min-data-version.ts'
import { createTracing } from '../../../src/http/middleware/tracing.ts'
import { createProcessCapacity } from '../../../src/http/server/capacity/process-capacity.ts'
import { type AdapterOptions, nodeAdapter } from '../../../src/http/server/node-adapter.ts'
import { defaultHttpLimits } from '../../../src/limits.ts'
import { connectionLimits } from '../../../src/limits/connections.ts'
import { type Deferred, deferred } from '../../support/deferred.ts'
import { type RawConnection, rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { timePasses } from '../../support/time-passes.ts'

const { iterationMilliseconds } = connectionLimits
/** Number of tasks of one millisecond in one iteration of the event loop, including the task that exceeds its time. */
const maxOfIteration = iterationMilliseconds + 1
const clients = 60
const behind = 3

const empty: OutgoingResponse = { status: 200, headers: ['content-length', '0'], bytes: null }
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

const nothing = (): void => undefined

function work(): void {
  const until = performance.now() + 1
  while (performance.now() < until);
}

/** Counts events by the iteration of the event loop in which they occur. */
function countByIteration(): { count: () => void; readonly most: number; end: () => void } {
  let [ofIteration, most, isOver] = [0, 0, false]
  void (async () => {
    for (; !isOver; ofIteration = 0) await nextIteration()
  })()
  return {
    count: () => void (most = Math.max(most, ++ofIteration)),
    get most() {
      return most
    },
    end: () => void (isOver = true),
  }
}

let server: TestServer | undefined
const connections: RawConnection[] = []
let counted = countByIteration()
afterEach(async () => {
  counted.end()
  for (const { socket } of connections.splice(0)) socket.destroy()
  await server?.close()
})

/** Starts a gateway whose responses to all requests for `/shared` are ready at the same moment. */
async function gateway(handle: AdapterOptions['handle'], onEnd?: () => void): Promise<Deferred> {
  const shared = deferred()
  const listener = nodeAdapter({
    limits: defaultHttpLimits,
    capacity: createProcessCapacity(defaultHttpLimits),
    turns: new Turns(iterationMilliseconds),
    startTrace: createTracing(nothing),
    handle: (exchange) => (exchange.request.path === '/shared' ? shared.promise.then(() => empty) : handle(exchange)),
    trustedProxies: 0,
  })
  server = await serverOf({
    listener: (request, response) => {
      const end = response.end.bind(response) as () => typeof response
      if (onEnd !== undefined) response.end = () => (onEnd(), end())
      return listener(request, response)
    },
  })
  return shared
}

/** Waits until this many requests run. */
async function areRunning(requests: number): Promise<void> {
  await expect.poll(() => server?.running(), { timeout: 20_000 }).toBe(requests)
}

/** Sends these paths on connections of their own, and waits until all requests have begun. */
async function send(paths: readonly string[]): Promise<void> {
  for (let client = 0; client < clients; client++) {
    const connection = await rawConnection(server?.port ?? 0)
    connections.push(connection)
    connection.send(paths.map(get).join(''))
  }
  await areRunning(clients * paths.length)
  counted = countByIteration()
}

describe('requests whose responses are ready at the same moment', () => {
  test('yield to the event loop between the requests that were pipelined behind them, which stay in order', async () => {
    const ofClient = new Map<unknown, string[]>()
    const shared = await gateway(({ request }) => {
      const { socket } = request as unknown as { socket: unknown }
      ofClient.set(socket, [...(ofClient.get(socket) ?? []), request.path])
      counted.count()
      work()
      return empty
    })
    const paths = Array.from({ length: behind }, (_, index) => `/${index}`)
    await send(['/shared', ...paths])
    shared.resolve()
    await areRunning(0)
    expect([...ofClient.values()]).toEqual(Array.from({ length: clients }, () => paths))
    expect(counted.most).toBeLessThanOrEqual(maxOfIteration)
  })

  test('count the work after the start of each, too', async () => {
    const shared = await gateway(async () => {
      for (let hop = 0; hop < 5; hop++) await Promise.resolve()
      counted.count()
      work()
      return empty
    })
    await send(['/shared', '/behind'])
    shared.resolve()
    await areRunning(0)
    expect(counted.most).toBeLessThanOrEqual(maxOfIteration)
  })

  test('yield to the event loop while they are sent', async () => {
    const shared = await gateway(
      () => empty,
      () => {
        counted.count()
        work()
      },
    )
    await send(['/shared'])
    shared.resolve()
    await areRunning(0)
    expect(counted.most).toBeLessThanOrEqual(maxOfIteration)
  })
})

test('requests that waited for the same commit yield to the event loop between them', async () => {
  const versions = new DataVersions()
  versions.listening(true)
  versions.committed({ version: '1.5', newestTs: null })
  const waitFor = createAwaitVersion(versions, () => Promise.resolve(null), nothing, new Turns(iterationMilliseconds))
  const waiting = Array.from({ length: clients }, async () => {
    expect(await waitFor('2.6', 'sender', nothing)).toBeNull()
    counted.count()
    work()
  })
  counted = countByIteration()
  versions.committed({ version: '2.6', newestTs: null })
  await Promise.all(waiting)
  expect(counted.most).toBeLessThanOrEqual(maxOfIteration)
})

describe('turns', () => {
  test('alternate between senders, and keep the order of each', async () => {
    const turns = new Turns(1)
    const taken: string[] = []
    const take = async (sender: string, number: number): Promise<void> => {
      await turns.next(sender)
      taken.push(`${sender}${number}`)
      work()
    }
    await Promise.all([take('a', 1), take('a', 2), take('a', 3), take('b', 1), take('b', 2)])
    expect(taken).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
  })

  test('are available again in the next iteration, after the requests that wait', async () => {
    const turns = new Turns(1)
    expect(turns.isFree()).toBe(true)
    work()
    expect(turns.isFree()).toBe(false)
    await timePasses(5)
    expect(turns.isFree()).toBe(true)
    const waiting = turns.next('a')
    expect(turns.isFree()).toBe(false)
    await waiting
  })
})
