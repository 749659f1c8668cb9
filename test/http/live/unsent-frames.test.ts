import { expect, test } from 'vitest'
import { liveLimits } from '../../../src/limits/live.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'

const nothing = (): void => undefined

/** A stream whose client reads only when `read` is called; what it has not read counts, however little it is. */
function stream(unsent: UnsentFrames) {
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
  const connection = new LiveConnection(sink, liveLimits, 'someone', unsent)
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

test('a frame counts no longer than until it is sent, and a client that has read its frames is not closed', () => {
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
