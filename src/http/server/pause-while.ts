import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/**
 * Keeps a connection paused while a condition holds: Node resumes it after each message that it has parsed. Its parser
 * must already be attached.
 */
export function pauseWhile(socket: Socket, holds: () => boolean): void {
  socket.on('resume', () => {
    if (!holds()) return
    // This event is emitted after resume() returns. If pause() was called in between, the parser still starts to read
    // at this event, and another pause() would not emit `pause`, at which the parser stops.
    if (socket.isPaused()) socket.emit('pause')
    else socket.pause()
  })
  // Node resumes at the end of a message, possibly amid the buffered bytes of a stream. The socket's `on`, which
  // node:http replaces, would make the parser read through the stream from now on.
  EventEmitter.prototype.on.call(socket, 'data', () => {
    if (holds()) socket.pause()
  })
}
