import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { pauseWhile } from '../../../src/http/server/pause-while.ts'

let server: Server | undefined
afterEach(() => server?.closeAllConnections())

/** Returns both ends of a connection with a partially received request. */
async function connection(): Promise<{ client: Socket; socket: Socket }> {
  server = createServer((request) => void request.resume()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
  await once(server, 'request')
  return { client, socket }
}

test.each(['before the event resume', 'after it'])('a connection that is paused %s is not read', async (when) => {
  const { client, socket } = await connection()
  let holds = false
  pauseWhile(socket, () => holds)
  socket.pause()
  socket.resume()
  if (when === 'after it') await once(socket, 'resume')
  holds = true
  socket.pause()
  const { bytesRead } = socket
  client.write('x')
  await wait(50)
  // Node resumes it too.
  socket.resume()
  await wait(50)
  expect(socket.bytesRead).toBe(bytesRead)
  holds = false
  socket.resume()
  await expect.poll(() => socket.bytesRead).toBe(bytesRead + 1)
})

test('a connection that is paused while its stream has buffered bytes is not read further', async () => {
  let holds = false
  const urls: (string | undefined)[] = []
  server = createServer((request) => {
    urls.push(request.url)
    holds = true
    request.socket.pause()
  })
  Object.assign(server, { pauseOnConnect: true })
  const [parse] = server.listeners('connection')
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    for (const url of ['/2', '/1']) socket.unshift(`GET ${url} HTTP/1.1\r\nHost: x\r\n\r\n`)
    parse?.call(server, socket)
    pauseWhile(socket, () => holds)
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  await expect.poll(() => urls).toEqual(['/1'])
  await wait(100)
  expect(urls).toEqual(['/1'])
})
