import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A TCP connection on which a test writes HTTP as text. */
export interface RawConnection {
  readonly socket: Socket
  send(text: string): void
  /** Waits until the received text matches, and returns the match; rejects if the connection is closed before. */
  receives(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves with all received text when the connection is closed. */
  readonly closed: Promise<string>
}

/**
 * Connects to a port of this machine.
 * @param localAddress source address of the connection
 */
export async function rawConnection(port: number, localAddress = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).setEncoding('latin1')
  let received = ''
  socket.on('data', (text: string) => (received += text))
  // A connection that is reset is closed too.
  socket.on('error', () => undefined)
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
  await once(socket, 'connect')
  return {
    socket,
    closed,
    send: (text) => void socket.write(text),
    receives: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(received)
          if (match !== null) resolve(match)
        }
        socket.on('data', check)
        check()
        void closed.then(() => reject(new Error(`The connection was closed without ${pattern.source} in: ${received}`)))
      }),
  }
}
