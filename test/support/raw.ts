import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection on which a test writes HTTP as it likes. */
export interface RawConnection {
  readonly socket: Socket
  send(text: string): void
  /** Resolves when this has come; fails where the connection ends without. */
  receives(words: RegExp): Promise<RegExpExecArray>
  /** All that came, when the other side has closed. */
  readonly closed: Promise<string>
}

/** @param localAddress that the connection comes from */
export async function rawConnection(port: number, localAddress = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).setEncoding('latin1')
  let came = ''
  socket.on('data', (text: string) => (came += text))
  // One that is cut has come to its end, too.
  socket.on('error', () => undefined)
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(came)))
  await once(socket, 'connect')
  return {
    socket,
    closed,
    send: (text) => void socket.write(text),
    receives: (words) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = words.exec(came)
          if (found !== null) resolve(found)
        }
        socket.on('data', look)
        look()
        void closed.then(() => reject(new Error(`It closed and never sent ${words.source}, but: ${came}`)))
      }),
  }
}
