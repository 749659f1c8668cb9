import { once } from 'node:events'
import { createServer, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BoundedRequest } from '../../../src/http/server/bounded-request.ts'
import { bodyChunks } from '../../../src/limits/connections.ts'

let responses = 0
let received = 0
let pushed = 0

/** Counts the responses that Node creates for parsed requests. */
class CountedResponse extends ServerResponse<CountedRequest> {
  constructor(request: CountedRequest) {
    super(request)
    responses++
  }
}

/** Counts the bytes of bodies. */
class CountedRequest extends BoundedRequest {
  constructor(socket: Socket) {
    super(socket)
    this.on('data', ({ length }: Buffer) => (received += length))
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    pushed++
    return super.push(chunk, encoding)
  }
}

/** Sends bytes at once, and waits until the server has closed the connection. */
async function send(
  bytes: string,
  listener: (request: CountedRequest, response: CountedResponse) => void,
): Promise<void> {
  responses = received = pushed = 0
  const server = createServer({ IncomingMessage: CountedRequest, ServerResponse: CountedResponse }, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  socket.resume().write(bytes)
  await once(socket, 'close')
  server.close()
}

test('requests that follow in the same read after the connection was closed create no response', async () => {
  let handled = 0
  await send('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000), ({ socket }) => {
    if (++handled === 10) socket.destroy()
  })
  expect([responses, handled]).toEqual([10, 10])
})

const chunked = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
const tooManyChunks = chunked + '1\r\nx\r\n'.repeat(5 * bodyChunks)

test('a body in too many chunks is refused, and those past the limit are neither stored nor passed on', async () => {
  let refused = 0
  await send(tooManyChunks, (request, response) => {
    request.onTooManyChunks(() => {
      refused++
      response.writeHead(413, { connection: 'close' }).end(() => request.socket.destroySoon())
    })
  })
  expect(refused).toBe(1)
  expect(received).toBeLessThanOrEqual(bodyChunks)
  // Newer releases of Node 26 call for each chunk of a read.
  if (Number.parseInt(process.versions.node, 10) < 26) expect(pushed).toBe(bodyChunks + 1)
})

// Node keeps its parsers for later connections.
test.each([
  ['nothing', ''],
  ['another request', `0\r\n\r\n${chunked}1\r\nx\r\n`],
  ['a request to connect', '0\r\n\r\nCONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
])('after a body in too many chunks, and %s, bodies of other connections are read', async (_, rest) => {
  const listener = (request: CountedRequest, response: CountedResponse): void => {
    request.onTooManyChunks(() => void request.socket.destroy())
    request.on('end', () => response.writeHead(200, { connection: 'close' }).end())
  }
  await send(tooManyChunks + rest, listener)
  for (let next = 0; next < 5; next++) {
    await send(`${chunked}5\r\nhello\r\n0\r\n\r\n`, listener)
    expect(received).toBe(5)
  }
})

test('several bodies in too many chunks in one read stop their connection once', async () => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  const small = chunked + '1\r\nx\r\n'.repeat(bodyChunks + 1)
  let refused = 0
  await send(`${small}0\r\n\r\n`.repeat(10), (request, response) => {
    request.onTooManyChunks(() => {
      refused++
      response.writeHead(413, { connection: 'close' }).end(() => request.socket.destroySoon())
    })
  })
  await nextIteration()
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
  expect(refused).toBeGreaterThan(0)
})
