import { expect, test } from 'vitest'
import { liveLimits } from '../../../src/limits/live.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'

const nothing = (): void => undefined

/** A stream whose client reads only when `read` is called; all unread bytes count. */
function stream(unsent: UnsentFrames, sender = 'someone') {
  let closed = nothing
  let tell = nothing
  const sink = {
    unsentBytes: 0,
    isDestroyed: false,
    write: (bytes: Buffer, sent: () => void = nothing) => {
      sink.unsentBytes += bytes.length
      tell = sent
    },
    end: () => undefined,
    destroy: () => void (sink.isDestroyed = true),
    onDrain: () => undefined,
    onClose: (callback: () => void) => void (closed = callback),
  }
  const connection = new LiveConnection(sink, liveLimits, sender, unsent)
  const read = (bytes: number): void => {
    sink.unsentBytes -= bytes
    tell()
  }
  return { sink, connection, close: () => closed(), read }
}

test('bytes below the high-water mark of a socket count, and the stream that has the most of them is closed', () => {
  const unsent = new UnsentFrames(1_000)
  const [one, other] = [stream(unsent), stream(unsent)]
  one.connection.write(Buffer.alloc(600))
  other.connection.write(Buffer.alloc(300))
  expect(unsent.bytes).toBe(900)
  other.connection.write(Buffer.alloc(101))
  expect([one.sink.isDestroyed, other.sink.isDestroyed]).toEqual([true, false])
  expect(unsent.bytes).toBe(401)
})

test('frames after the end of a stream are discarded, and do not count', () => {
  const unsent = new UnsentFrames(1_000)
  const { connection, sink } = stream(unsent)
  connection.end(Buffer.alloc(100))
  connection.write(Buffer.alloc(200))
  connection.heartbeat(Buffer.alloc(10))
  connection.end(Buffer.alloc(50))
  expect([unsent.bytes, sink.unsentBytes]).toEqual([100, 100])
})

test.each([
  ['a client', (_: number) => '192.0.2.1'],
  ['a network of clients', (place: number) => `2001:db8:1:${place}::/64`],
])('of many small streams of %s one is closed, and not a larger one of another client', (_, senderAt) => {
  const unsent = new UnsentFrames(1_000)
  const larger = stream(unsent, '192.0.2.2')
  larger.connection.write(Buffer.alloc(300))
  const small = Array.from({ length: 8 }, (_, place) => stream(unsent, senderAt(place)))
  for (const { connection } of small) connection.write(Buffer.alloc(90))
  expect(larger.sink.isDestroyed).toBe(false)
  expect(small.filter(({ sink }) => sink.isDestroyed)).toHaveLength(1)
  expect(unsent.bytes).toBe(300 + 7 * 90)
})

test('of the streams of many clients that share frames, only those of one frame are closed', () => {
  const unsent = new UnsentFrames(4_500)
  const streams = Array.from({ length: 50 }, (_, place) => stream(unsent, `192.0.2.${place}`))
  const write = (frame: Buffer, to: readonly (typeof streams)[number][]): void => {
    for (const { connection } of to) connection.write(frame)
  }
  for (const each of streams) each.connection.write(Buffer.alloc(1))
  for (let at = 0; at < 4; at++) write(Buffer.alloc(1_000), streams.slice(10 * at, 10 * at + 10))
  expect(streams.filter(({ sink }) => sink.isDestroyed)).toHaveLength(0)
  write(Buffer.alloc(1_000), streams.slice(40))
  expect(streams.filter(({ sink }) => sink.isDestroyed)).toHaveLength(10)
  expect(unsent.bytes).toBe(4_000 + 40)
})

test('a frame counts until it is sent, and a client that has read its frames is not closed', () => {
  const unsent = new UnsentFrames(1_000)
  const [reader, other] = [stream(unsent), stream(unsent)]
  reader.connection.write(Buffer.alloc(500))
  reader.connection.write(Buffer.alloc(300))
  reader.read(500)
  reader.connection.write(Buffer.alloc(100))
  expect(unsent.bytes).toBe(400)
  reader.read(400)
  other.connection.write(Buffer.alloc(900))
  expect([reader.sink.isDestroyed, other.sink.isDestroyed]).toEqual([false, false])
  expect(unsent.bytes).toBe(900)
})

test('a stream counts nothing after it has closed', () => {
  const unsent = new UnsentFrames(1_000)
  const { connection, close } = stream(unsent)
  connection.write(Buffer.alloc(10))
  close()
  connection.write(Buffer.alloc(10))
  expect(unsent.bytes).toBe(0)
})
