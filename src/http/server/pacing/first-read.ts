import type { Socket } from 'node:net'
import { copyAndFree, freeBytes } from '../capacity/free-bytes.ts'

/** Reads of a new connection before its parser is there. */
export interface FirstRead {
  /** Ends them: the connection is paused, and all its bytes are in the buffer of its stream. */
  end(): void
  /**
   * Frees the bytes of a connection that was closed before its turn, with long input: an attack has 2,000 of them closed
   * in a second, and the garbage collector would leave up to 70 MB.
   */
  free(): void
}

/**
 * Reads what a new connection sends before its turn comes to be parsed. Reading 64 KB takes some 20 us, parsing them up to
 * 20 ms. A connection whose client ends it meanwhile is closed, unless its input is long: then the end is not read.
 * @param socket that was accepted paused (`pauseOnConnect` of node:net)
 * @param isIdle tells whether no connection waits: the first bytes are then parsed at once
 * @param onInput called with whether the input is short, and its length: with the first bytes, where it is idle; else in the next
 *   iteration of the event loop, if the client has not left; after a second without bytes; again where it becomes long.
 *   Not called after the end.
 */
export function readFirst(
  socket: Socket,
  isIdle: () => boolean,
  onInput: (isShort: boolean, bytes: number) => void,
): FirstRead {
  const chunks: Buffer<ArrayBuffer>[] = []
  /** Chunks that are in the buffer of the stream until its turn. */
  let givenBack: readonly Buffer<ArrayBuffer>[] = []
  let length = 0
  let isOver = false

  /** Gives the bytes back to the stream, which reads on only if they are less than its buffer may have. */
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
  // A client can reset its connection before the parser is there, which has a listener of its own.
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

/** Outside, since it stays with the connection, and the buffers of its first read would stay with it. */
const ignore = (): void => undefined

/** Input that is short: more than that of most requests. */
const shortBytes = 4_096
/** Time without bytes after which a new connection is taken for one with short input. */
const silentMilliseconds = 1_000
