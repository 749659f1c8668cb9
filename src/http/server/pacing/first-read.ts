import type { Socket } from 'node:net'
import { copyAndFree, freeBytes } from '../capacity/free-bytes.ts'

/** Reads from a new connection before its HTTP parser is attached. */
export interface FirstRead {
  /** Stops reading: the connection is paused, and the bytes read are back in the buffer of its stream. */
  end(): void
  /**
   * Frees the long input of a connection that was closed before it was parsed. An attack can close 2,000 of these in a
   * second, and the garbage collector would leave up to 70 MB in memory.
   */
  free(): void
}

/** Connections of a server whose end is awaited after long input. */
export interface AwaitedEnds {
  count: number
}

/**
 * Reads the input of a new connection before its turn to be parsed. Reading 64 KB takes some 20 us, parsing them up to
 * 10 ms. If the client ends the connection in between, it is closed; of long input, an end is read only if it follows at
 * once: thousands of such connections may have waited in the kernel's queue.
 * @param socket that was accepted paused (`pauseOnConnect` of node:net)
 * @param awaitedEnds of all connections of the server
 * @param isIdle returns whether no connection waits: the first bytes are then parsed immediately
 * @param onInput called with whether the input is short, and its length. Called for the first bytes: immediately if
 *   idle, else in the next iteration of the event loop, unless the client has left. Also called after a second without
 *   bytes, and again when the input becomes long. Not called after `end`.
 */
export function readFirst(
  socket: Socket,
  awaitedEnds: AwaitedEnds,
  isIdle: () => boolean,
  onInput: (isShort: boolean, bytes: number) => void,
): FirstRead {
  const chunks: Buffer<ArrayBuffer>[] = []
  /** Chunks that were put back into the buffer of the stream. */
  let givenBack: readonly Buffer<ArrayBuffer>[] = []
  let length = 0
  let isOver = false

  /** Stops reading, and puts the bytes back into the stream, which reads on only below its high-water mark. */
  function end(): void {
    isOver = true
    socket.off('data', onData).off('end', onLeft).off('timeout', onShort).setTimeout(0)
    socket.pause()
    givenBack = chunks.splice(0)
    for (const bytes of givenBack.toReversed()) socket.unshift(bytes)
  }
  const onLong = (): void => {
    if (isOver || socket.destroyed) return
    end()
    onInput(false, length)
  }
  /** Passes long input on, unless the end follows at once. */
  const afterEnd = (): void => {
    awaitedEnds.count++
    setImmediate(() =>
      setImmediate(() => {
        awaitedEnds.count--
        onLong()
      }),
    )
  }
  const onData = (bytes: Buffer<ArrayBuffer>): void => {
    socket.setTimeout(0).off('timeout', onShort)
    length += bytes.length
    const isLong = length > shortBytes
    chunks.push(isLong || isIdle() ? bytes : copyAndFree(bytes))
    const isFirst = chunks.length === 1
    if (isLong && (!isFirst || isIdle() || bytes.length >= readBytes || awaitedEnds.count >= maxAwaitedEnds)) onLong()
    else if (isLong) afterEnd()
    else if (!isFirst) return
    else if (isIdle()) onShort()
    else setImmediate(() => setImmediate(onShort))
  }
  const onShort = (): void => {
    if (!isOver && !socket.destroyed) onInput(true, length)
  }
  const onLeft = (): void => void socket.destroy()
  // A client can reset its connection before the parser, which handles errors itself, is attached.
  socket.on('error', ignore)
  socket.on('data', onData).on('end', onLeft).setTimeout(silentMilliseconds, onShort)
  socket.resume()
  return {
    end() {
      end()
      givenBack = []
    },
    free() {
      for (const bytes of [...givenBack, ...chunks.splice(0)]) freeBytes(bytes)
      givenBack = []
    },
  }
}

/** Not a closure: the listener stays on the connection, and would keep the buffers of the first read in memory. */
const ignore = (): void => undefined

/** Maximum size of short input, in bytes: more than most requests have. */
const shortBytes = 4_096
/** Bytes that Node reads at once: after so many, more will follow. */
const readBytes = 65_536
/** Maximum number of awaited ends: the bytes of their connections are in no queue that limits them. */
const maxAwaitedEnds = 64
/** Milliseconds without bytes after which a new connection is treated as one with short input. */
const silentMilliseconds = 1_000
