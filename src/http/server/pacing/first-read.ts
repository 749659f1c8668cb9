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

/**
 * Reads the input of a new connection before its turn to be parsed. Reading 64 KB takes some 20 us, parsing them up to
 * 10 ms. If the client ends the connection in between, it is closed; an end after long input is not read.
 * @param socket that was accepted paused (`pauseOnConnect` of node:net)
 * @param isIdle returns whether no connection waits: the first bytes are then parsed immediately
 * @param onInput called with whether the input is short, and its length. Called for the first bytes: immediately if
 *   idle, else in the next iteration of the event loop, unless the client has left. Also called after a second without
 *   bytes, and again when the input becomes long. Not called after `end`.
 */
export function readFirst(
  socket: Socket,
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
  const onData = (bytes: Buffer<ArrayBuffer>): void => {
    socket.setTimeout(0).off('timeout', onShort)
    length += bytes.length
    const isLong = length > shortBytes
    chunks.push(isLong || isIdle() ? bytes : copyAndFree(bytes))
    if (isLong) {
      end()
      onInput(false, length)
    } else if (chunks.length > 1) return
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
      for (const bytes of givenBack) freeBytes(bytes)
      givenBack = []
    },
  }
}

/** Not a closure: the listener stays on the connection, and would keep the buffers of the first read in memory. */
const ignore = (): void => undefined

/** Maximum size of short input, in bytes: more than most requests have. */
const shortBytes = 4_096
/** Milliseconds without bytes after which a new connection is treated as one with short input. */
const silentMilliseconds = 1_000
