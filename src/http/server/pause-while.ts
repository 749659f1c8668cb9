import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/**
 * Keeps a connection paused while a condition holds: Node resumes it after each message that it has parsed. Its parser
 * must have been added before.
 */
export function pauseWhile(socket: Socket, holds: () => boolean): void {
  socket.on('resume', () => {
    if (!holds()) return
    // This event comes later than resume(). Where pause() was called in between, the parser begins to read at this event
    // all the same, and another pause() would not emit `pause`, at which the parser stops.
    if (socket.isPaused()) socket.emit('pause')
    else socket.pause()
  })
  // Node resumes at the end of a message, which may be amid the buffered bytes of a stream. Node's own `on` would make the
  // parser read by way of the stream from now on.
  EventEmitter.prototype.on.call(socket, 'data', () => {
    if (holds()) socket.pause()
  })
}
