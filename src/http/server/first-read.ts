import type { Socket } from 'node:net'

/** Reads of a new connection before its parser is there. */
export interface FirstRead {
  /** Ends them: the connection is paused, and all its bytes are in the buffer of its stream. */
  end(): void
}

/**
 * Reads what a new connection sends before its turn comes to be parsed. Reading 64 KB takes some 20 us, parsing them up to
 * 20 ms. A connection whose client ends it meanwhile is closed, unless its input is long: then the end is not read.
 * @param socket that was accepted paused (`pauseOnConnect` of node:net)
 * @param isIdle tells whether no connection waits: the first bytes are then parsed at once
 * @param onInput called with whether the input is short: with the first bytes, where it is idle; else in the next
 *   iteration of the event loop, if the client has not left; after a second without bytes; again where it becomes long.
 *   Not called after the end.
 */
export function readFirst(socket: Socket, isIdle: () => boolean, onInput: (isShort: boolean) => void): FirstRead {
  const chunks: Buffer[] = []
  let length = 0
  let isOver = false

  /** Gives the bytes back to the stream, which reads on only if they are less than its buffer may have. */
  function end(): void {
    isOver = true
    socket.off('data', onData).off('end', onLeft).off('timeout', onShort).setTimeout(0)
    socket.pause()
    for (const bytes of chunks.splice(0).reverse()) socket.unshift(bytes)
  }
  const onData = (bytes: Buffer): void => {
    socket.setTimeout(0).off('timeout', onShort)
    chunks.push(bytes)
    length += bytes.length
    if (length > shortBytes) {
      end()
      onInput(false)
    } else if (chunks.length > 1) return
    else if (isIdle()) onShort()
    else setImmediate(() => setImmediate(onShort))
  }
  const onShort = (): void => {
    if (!isOver && !socket.destroyed) onInput(true)
  }
  const onLeft = (): void => void socket.destroy()
  // A client can reset its connection before the parser is there, which has a listener of its own.
  socket.on('error', ignore)
  socket.on('data', onData).on('end', onLeft).setTimeout(silentMilliseconds, onShort)
  socket.resume()
  return { end }
}

/** Outside, since it stays with the connection, and the buffers of its first read would stay with it. */
const ignore = (): void => undefined

/** Input that is short: more than that of most requests. */
const shortBytes = 4_096
/** Time without bytes after which a new connection is taken for one with short input. */
const silentMilliseconds = 1_000
