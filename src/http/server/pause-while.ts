import type { Socket } from 'node:net'

/**
 * Keeps a connection paused while a condition holds: Node resumes it after each message that it has parsed. Its parser
 * must have been added before.
 */
export function pauseWhile(socket: Socket, holds: () => boolean): void {
  socket.on('resume', () => {
    if (!holds()) return
    // A connection that was paused after resume() and before this event is read all the same: the parser stops the reads
    // at the event `pause`, which pause() emits only where the stream flows.
    if (socket.isPaused()) socket.emit('pause')
    else socket.pause()
  })
}
