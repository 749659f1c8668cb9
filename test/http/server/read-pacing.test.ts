import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { ReadPacing } from '../../../src/http/server/pacing/read-pacing.ts'
import { listen } from '../../../src/http/server/server.ts'
import { connectionLimits } from '../../../src/limits/connections.ts'

let server: Server | undefined
afterEach(() => server?.close())

const milliseconds = connectionLimits.readMilliseconds

/** Starts a server that calls back for each read of a connection. */
async function pacedServer(
  onRead: (socket: Socket, bytes: Buffer) => void,
  maxWaiting = Infinity,
  ofLong = { inAll: Infinity, bytes: Infinity },
  isBehindProxies = false,
): Promise<number> {
  const pacing = new ReadPacing({ milliseconds, maxWaiting, ofLong, isBehindProxies })
  server = createServer({ pauseOnConnect: true }, (socket) => {
    pacing.add(socket, () =>
      socket.on('data', (bytes) => {
        pacing.onRead(socket)
        onRead(socket, bytes)
      }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Counts iterations of the event loop until the test ends it. */
function countIterations(): { readonly count: number; isOver: boolean } {
  const iterations = { count: 0, isOver: false }
  const next = (): void => {
    iterations.count++
    if (!iterations.isOver) setImmediate(next)
  }
  next()
  return iterations
}

function maxInOne(iterations: readonly number[]): number {
  const inOne = new Map<number, number>()
  for (const at of iterations) inOne.set(at, (inOne.get(at) ?? 0) + 1)
  return Math.max(...inOne.values())
}

const ofMachine = performance.now.bind(performance)
/** The clock of the pacing: only work takes time, so that it is the same however fast the machine is. */
let now = 0
const ofWork = (): number => now
let clock: () => number
beforeAll(() => void vi.spyOn(performance, 'now').mockImplementation(() => clock()))
beforeEach(() => void (clock = ofWork))
afterAll(() => vi.restoreAllMocks())

function busy(milliseconds: number): void {
  const until = clock() + milliseconds
  if (clock === ofWork) now = until
  while (clock() < until);
}

const client = (port: number, localAddress = '127.0.0.1'): Socket =>
  connect({ port, host: '127.0.0.1', localAddress })
    .on('error', () => undefined)
    .once('connect', function (this: Socket) {
      this.write('x')
    })
    .resume()

test('all new connections are read, even if some leave before their turn', async () => {
  let readCount = 0
  const port = await pacedServer((socket) => {
    readCount++
    socket.end()
  })
  const clients = Array.from({ length: 40 }, () => client(port))
  const leaving = clients.slice(0, 5)
  for (const each of leaving) each.once('connect', () => each.destroy())
  for (const each of clients) if (!each.destroyed) await once(each, 'close')
  expect(readCount).toBeGreaterThanOrEqual(clients.length - leaving.length)
})

test('if too many connections of an address wait, the oldest is closed', async () => {
  const maxWaiting = 10
  const read = new Set<number | undefined>()
  const port = await pacedServer((socket) => {
    read.add(socket.remotePort)
    busy(20)
    socket.end()
  }, maxWaiting)
  const clients = Array.from({ length: 60 }, () => client(port))
  // Those that are closed unread are reset.
  await Promise.all(clients.map((each) => new Promise((resolve) => each.once('close', resolve))))
  // Their number depends on how many arrive while one is read.
  expect(read.size).toBeLessThan(clients.length)
  expect(read.size).toBeGreaterThanOrEqual(maxWaiting)
})

test.each([
  ['of an address', [10, Infinity]],
  ['in all', [Infinity, 10]],
] as const)('where too many open connections %s wait, the oldest is closed', async (_, [maxWaiting, maxLong]) => {
  const maxConnections = 2 * Math.min(maxWaiting, maxLong)
  const read: (number | undefined)[] = []
  const port = await pacedServer(
    (socket) => {
      if (socket.bytesRead === 1) return void socket.write('y')
      read.push(socket.remotePort)
      busy(milliseconds)
      socket.end()
    },
    maxWaiting,
    { inAll: maxLong, bytes: Infinity },
  )
  const clients: Socket[] = []
  for (let opened = 0; opened < 60; opened++) {
    const one = client(port)
    await once(one, 'data')
    clients.push(one)
  }
  const ports = clients.map(({ localPort }) => localPort)
  const closed = Promise.all(clients.map((each) => new Promise((resolve) => each.once('close', resolve))))
  for (const each of clients) each.write('z'.repeat(100))
  busy(20)
  await closed
  expect(read.length).toBeLessThan(clients.length / 2)
  expect(read.length).toBeGreaterThanOrEqual(maxConnections)
  expect(read).toContain(ports.at(-1))
})

/**
 * Opens connections, and sends on all of them at once.
 * @param onRead called for the second read of each, with all that are open
 * @returns the number of connections read, and the most in one iteration of the event loop
 */
async function flood(
  count: number,
  onRead: (open: readonly Socket[]) => void,
): Promise<{ read: number; most: number }> {
  const iterations = countIterations()
  const open: Socket[] = []
  const readIn: number[] = []
  const port = await pacedServer((socket) => {
    if (socket.bytesRead === 1) return void (open.push(socket), socket.write('y'))
    readIn.push(iterations.count)
    onRead(open)
    socket.end()
  })
  const clients = Array.from({ length: count }, () => client(port))
  await Promise.all(clients.map((each) => once(each, 'data')))
  // All input has arrived when the event loop polls for it.
  for (const each of clients) each.write('z'.repeat(100))
  busy(20)
  await Promise.all(clients.map((each) => once(each, 'close')))
  iterations.isOver = true
  return { read: readIn.length, most: maxInOne(readIn) }
}

test('open connections that are slow to read, and all have input, are read within the time of an iteration', async () => {
  const { read, most } = await flood(40, () => busy(milliseconds / 4))
  expect(read).toBe(40)
  expect(most).toBeLessThanOrEqual(6)
})

test.each([
  ['of another address', '127.0.0.2'],
  ['of its address', '127.0.0.1'],
])('a connection is not put off by many %s that have input again as soon as they are read', async (_, from) => {
  // In steps that are all equal, the same connections might be read in each iteration.
  clock = ofMachine
  const count = 40
  // Cheap enough for the connections of a heavy address to be resumed with all others.
  const readMilliseconds = 2
  const byPort = new Map<number | undefined, Socket>()
  let reads = 0
  let isOver = false
  const port = await pacedServer((socket) => {
    const sender = byPort.get(socket.remotePort)
    if (sender === undefined) return void socket.write('y')
    reads++
    busy(readMilliseconds)
    if (!isOver) sender.write('x')
  })
  const flood = Array.from({ length: count }, () => client(port, from))
  for (const each of flood) each.once('connect', () => byPort.set(each.localPort, each))
  await vi.waitFor(() => expect(reads).toBeGreaterThan(8 * count), { timeout: 20_000 })
  const wanted = client(port)
  const waits: number[] = []
  for (let attempt = 0; attempt < 30; attempt++) {
    const before = reads
    if (attempt > 0) wanted.write('x')
    await once(wanted, 'data')
    waits.push(reads - before)
    // Requests are sent at any time of an iteration.
    await new Promise((resolve) => setTimeout(resolve, attempt))
  }
  isOver = true
  for (const each of [wanted, ...flood]) each.destroy()
  // The first reads of a connection are taken for expensive ones.
  const [middle = NaN] = waits
    .slice(10)
    .toSorted((one, other) => one - other)
    .slice(10)
  // It waits for the rest of an iteration; if the others did not yield, they would have two.
  expect(middle).toBeLessThanOrEqual((1.5 * milliseconds) / readMilliseconds)
})

test('new connections are accepted before open ones that have new input as soon as they are read', async () => {
  clock = ofMachine
  const openCount = 40
  const newCount = 100
  const senders = new Map<number | undefined, Socket>()
  let reads = 0
  let isOver = false
  const port = await pacedServer((socket) => {
    const open = senders.get(socket.remotePort)
    if (open === undefined) return void socket.write('y')
    reads++
    busy(2)
    if (!isOver) open.write('x')
  })
  const open = Array.from({ length: openCount }, () => client(port, '127.0.0.2'))
  for (const each of open) each.once('connect', () => senders.set(each.localPort, each))
  await vi.waitFor(() => expect(reads).toBeGreaterThan(8 * openCount), { timeout: 20_000 })
  const before = reads
  let readsAtLast = NaN
  let accepted = 0
  server?.on('connection', () => {
    if (++accepted === newCount) readsAtLast = reads
  })
  const others = Array.from({ length: newCount }, () => client(port))
  await vi.waitFor(() => expect(accepted).toBe(newCount), { timeout: 20_000 })
  isOver = true
  // If each were accepted in an iteration of its own, all reads of that iteration would come before it.
  expect(readsAtLast - before).toBeLessThan(2 * newCount)
  for (const each of [...open, ...others]) each.destroy()
})

test('a connection that others resume is not read before its turn', async () => {
  const { read, most } = await flood(8, (open) => {
    busy(milliseconds)
    for (const each of open) each.resume()
  })
  expect(read).toBe(8)
  expect(most).toBeLessThanOrEqual(3)
})

test('a connection whose reads were cheap does not wait for others of its address that are slow to read', async () => {
  const count = 60
  const order: (number | undefined)[] = []
  const port = await pacedServer((socket) => {
    if (socket.bytesRead > 50) {
      order.push(socket.remotePort)
      busy(20)
    }
    socket.write('y')
  })
  const open = async (): Promise<Socket> => {
    const socket = client(port)
    await once(socket, 'data')
    return socket
  }
  const others = await Promise.all(Array.from({ length: count }, open))
  const cheap = await open()
  for (let read = 0; read < 10; read++) {
    cheap.write('z')
    await once(cheap, 'data')
  }
  for (const each of [...others, cheap]) each.write('z'.repeat(100))
  busy(20)
  await Promise.all([cheap, ...others].map((each) => once(each, 'data')))
  expect(order).toHaveLength(count + 1)
  expect(order.indexOf(cheap.localPort)).toBeLessThan(count / 2)
  for (const each of [cheap, ...others]) each.destroy()
})

test('behind proxies, a request does not wait for idle connections of the same proxy', async () => {
  const idleCount = 100
  const iterations = countIterations()
  let readAt = NaN
  const { port, close } = await listen({
    listener: (request, response) => {
      if (request.path === '/slow') busy(milliseconds)
      if (request.path === '/wanted') readAt = iterations.count
      return Promise.resolve(void response.end())
    },
    onError: (error) => expect.fail(String(error)),
    port: 0,
    host: '127.0.0.1',
    isBehindProxies: true,
  })
  const ask = async (socket: Socket, target: string): Promise<void> => {
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await once(socket, 'data')
  }
  const slow = [await sender(port), await sender(port)]
  const idle = await Promise.all(Array.from({ length: idleCount }, () => sender(port)))
  const wanted = await sender(port)
  const all = [...slow, ...idle, wanted]
  for (const socket of all) await ask(socket, '/')
  // Queries take long in each iteration.
  let isOver = false
  const work = (): void => {
    busy(milliseconds)
    if (!isOver) setImmediate(work)
  }
  work()
  // These two requests take the time of one iteration: all connections are paused.
  await Promise.all(slow.map((socket) => ask(socket, '/slow')))
  const askedAt = iterations.count
  await ask(wanted, '/wanted')
  isOver = iterations.isOver = true
  // In turns of two, the connection would wait for half as many iterations as there are idle ones.
  expect(readAt - askedAt).toBeLessThan(idleCount / 4)
  for (const socket of all) socket.destroy()
  await close(1)
})

// Loopback addresses other than 127.0.0.1 need no configuration on Linux only.
test.runIf(process.platform === 'linux')(
  'a new connection does not wait for those of another address that are slow to read',
  async () => {
    const order: (string | undefined)[] = []
    const port = await pacedServer((socket) => {
      order.push(socket.remoteAddress)
      busy(20)
      socket.end()
    })
    const many = Array.from({ length: 60 }, () => client(port, '127.0.0.2'))
    await Promise.all(many.map((each) => once(each, 'connect')))
    await Promise.all([client(port), ...many].map((each) => once(each, 'close')))
    expect(order).toHaveLength(61)
    expect(order.indexOf('127.0.0.1')).toBeLessThan(20)
  },
)

/** Connects, and sends bytes, if any. */
async function sender(port: number, bytes = ''): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
  await once(socket, 'connect')
  if (bytes !== '') socket.write(bytes)
  return socket.resume()
}

const long = 'x'.repeat(40_000)

test('a new connection with short input does not wait for those of its address with long input', async () => {
  const order: number[] = []
  const port = await pacedServer((socket, { length }) => {
    order.push(length)
    busy(20)
    socket.end()
  })
  const many = await Promise.all(Array.from({ length: 40 }, () => sender(port, long)))
  const short = await sender(port, 'short')
  await Promise.all([short, ...many].map((each) => once(each, 'close')))
  expect(order.indexOf('short'.length)).toBeGreaterThanOrEqual(0)
  expect(order.indexOf('short'.length)).toBeLessThan(20)
})

const maxLong = 40
test.each([
  ['many connections', { inAll: maxLong, bytes: Infinity }],
  ['much', { inAll: Infinity, bytes: maxLong * long.length }],
])('where too %s with long input waits in all, the oldest is closed, and none with short input', async (_, ofLong) => {
  const shortCount = 5
  const read: number[] = []
  const port = await pacedServer(
    (socket, { length }) => {
      if (length === 1) return void (socket.bytesRead === 1 ? socket.write('y') : busy(2 * milliseconds))
      read.push(length)
      busy(milliseconds / 2 + 1)
      socket.end()
    },
    Infinity,
    ofLong,
  )
  let accepted = 0
  server?.on('connection', () => accepted++)
  const slow = client(port)
  await once(slow, 'data')
  const clients = await Promise.all(Array.from({ length: 2.5 * maxLong + shortCount }, () => sender(port)))
  await vi.waitFor(() => expect(accepted).toBe(1 + clients.length), { interval: 1 })
  // Input that is written together is read in one iteration; after this long one, few connections get their turn.
  slow.write('z')
  for (const each of clients.slice(0, maxLong)) each.write(long)
  for (const each of clients.slice(maxLong, maxLong + shortCount)) each.write('short')
  for (let iteration = 0; iteration < 4; iteration++) await new Promise(setImmediate)
  // If those with short input waited among the long ones, these would displace them.
  for (const each of clients.slice(maxLong + shortCount)) each.write(long)
  await Promise.all(clients.filter(({ destroyed }) => !destroyed).map((each) => once(each, 'close')))
  slow.destroy()
  const shortRead = read.filter((length) => length === 'short'.length)
  expect(shortRead).toHaveLength(shortCount)
  const longRead = read.length - shortRead.length
  expect(longRead).toBeGreaterThanOrEqual(maxLong)
  expect(longRead).toBeLessThanOrEqual(2 * maxLong)
})

test('the bytes of connections that are closed before their turn are freed immediately', async () => {
  const begun = new Set<Socket>()
  const buffers = new Map<Socket, Buffer[]>()
  const port = await pacedServer((socket) => {
    begun.add(socket)
    busy(20)
    socket.end()
  }, 40)
  server?.on('connection', (socket) => {
    buffers.set(socket, [])
    socket.on('data', (bytes) => buffers.get(socket)?.push(bytes))
  })
  const clients = await Promise.all(Array.from({ length: 100 }, () => sender(port, long)))
  await Promise.all(clients.filter(({ destroyed }) => !destroyed).map((each) => once(each, 'close')))
  const ofClosed = [...buffers].flatMap(([socket, each]) => (begun.has(socket) ? [] : each))
  expect(ofClosed.length).toBeGreaterThan(20)
  expect(ofClosed.filter(({ length }) => length > 0)).toEqual([])
})

test.each([
  ['short', 'leave', false],
  ['long', 'leave' + long, false],
  ['short', 'leave', true],
  ['long', 'leave' + long, true],
])(
  'a new connection with %s input whose client has left before its turn is not parsed (%#)',
  async (_, input, isBehindProxies) => {
    const noLimits = { inAll: Infinity, bytes: Infinity }
    const read: string[] = []
    const onRead = (socket: Socket, bytes: Buffer): void => {
      read.push(bytes.toString().slice(0, 5))
      busy(20)
      socket.end()
    }
    const port = await pacedServer(onRead, Infinity, noLimits, isBehindProxies)
    const many = await Promise.all(Array.from({ length: 20 }, () => sender(port, long)))
    const leaving = await Promise.all(Array.from({ length: 20 }, () => sender(port, input)))
    for (const each of leaving) each.end()
    await Promise.all([...many, await sender(port, 'stays')].map((each) => once(each, 'close')))
    expect(read).toContain('stays')
    expect(read.filter((each) => each === 'leave').length).toBeLessThan(5)
  },
)

test('the bytes of a new connection are parsed in the order of their arrival, however many wait', async () => {
  const texts = new Map<number, string>()
  const { port, close } = await listen({
    listener: async (request, response) => {
      // Those after the first few of an iteration are paused when they have just been resumed.
      busy(10)
      let text = ''
      for await (const bytes of request) text += String(bytes)
      texts.set(Number(request.url?.slice(1)), text)
      response.end('done')
    },
    onError: (error) => expect.fail(String(error)),
    port: 0,
    host: '127.0.0.1',
  })
  const bodyOf = (at: number): string => Array.from({ length: 20_000 }, (_, index) => `${at}.${index};`).join('')
  const clients = Array.from({ length: 40 }, async (_, at) => {
    const body = bodyOf(at)
    const socket = await sender(port, `POST /${at} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`)
    // In pieces of odd lengths, some before its turn and some after.
    for (let from = 0, length = 1; from < body.length; from += length, length = (3 * length + at) % 30_011) {
      socket.write(body.slice(from, from + length))
      if (at % 3 === 0) await new Promise(setImmediate)
    }
    await once(socket, 'data')
    socket.destroy()
  })
  await Promise.all(clients)
  for (let at = 0; at < clients.length; at++) expect(texts.get(at) === bodyOf(at), String(at)).toBe(true)
  await close(1)
})

/** Returns the number of answered clients among those that end their side with the request. */
async function answeredHalfClosed(count: number): Promise<number> {
  const { port, close } = await listen({
    listener: (_, response) => {
      setImmediate(() => response.end('done'))
      return Promise.resolve()
    },
    onError: (error) => expect.fail(String(error)),
    port: 0,
    host: '127.0.0.1',
  })
  let answered = 0
  for (let at = 0; at < count; at++) {
    const socket = connect({ port, host: '127.0.0.1' }).on('data', () => answered++)
    socket.end('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'close')
  }
  await close(1)
  return answered
}

test('new connections do not wait for other work of an iteration that takes long', async () => {
  const count = 40
  const port = await pacedServer((socket) => socket.end())
  const other = { iterations: 0, isOver: false }
  // An embedded database runs its statements in iterations of their own.
  const work = (): void => {
    busy(2 * milliseconds)
    other.iterations++
    if (!other.isOver) setImmediate(work)
  }
  work()
  const clients = Array.from({ length: count }, () => client(port))
  await Promise.all(clients.map((each) => once(each, 'close')))
  other.isOver = true
  // The event loop accepts one in each iteration.
  expect(other.iterations).toBeLessThan(count + 10)
})

test('a client that ends its side with its request is answered if no connection waits', async () => {
  expect(await answeredHalfClosed(20)).toBeGreaterThan(15)
})

test.each([
  ['behind proxies, all new connections are read in the same iteration after a long one', true, 59],
  ['without proxies, few new connections are read in the same iteration after a long one', false, 4],
] as const)('%s', async (_, isBehindProxies, readCount) => {
  const iterations = countIterations()
  const readIn: number[] = []
  const noLimits = { inAll: Infinity, bytes: Infinity }
  const onRead = (socket: Socket, { length }: Buffer): void => {
    if (length === 1) return void (socket.bytesRead === 1 ? socket.write('y') : busy(2 * milliseconds))
    readIn.push(iterations.count)
    socket.end()
  }
  const port = await pacedServer(onRead, Infinity, noLimits, isBehindProxies)
  let accepted = 0
  server?.on('connection', () => accepted++)
  const slow = client(port)
  await once(slow, 'data')
  const clients = await Promise.all(Array.from({ length: 60 }, () => sender(port)))
  await vi.waitFor(() => expect(accepted).toBe(1 + clients.length), { interval: 1 })
  slow.write('z')
  for (const each of clients) each.write('short')
  await Promise.all(clients.map((each) => once(each, 'close')))
  iterations.isOver = true
  slow.destroy()
  expect(readIn).toHaveLength(clients.length)
  // The first is read at once, because none waits yet.
  expect(readIn.filter((iteration) => iteration === readIn[1])).toHaveLength(readCount)
})
