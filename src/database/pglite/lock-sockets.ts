import { connect, createServer, type Server } from 'node:net'

/** Creates a server that sends the holder's name to each client, and neither keeps the process alive nor ends it. */
export function createHolderSocket(holder: string): Server {
  return createServer((socket) => {
    // A client may have left before it was accepted, or never close its side.
    socket.on('error', ignore).unref()
    socket.end(holder, () => socket.destroy())
  })
    .on('error', ignore)
    .unref()
}

function ignore(): void {
  // A client whose connection fails connects again.
}

/**
 * Listens at a socket address.
 * @throws when the address is taken or cannot be used
 */
export function listenOnSocket(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Stops listening; resolves when the server is closed. */
export function closeSocket(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

const unnamedHolder = 'which does not say who it is'

/** Error codes of a stale or missing socket, whose process has ended. */
const staleCodes: readonly (string | undefined)[] = ['ECONNREFUSED', 'ECONNRESET', 'ENOENT']

/**
 * Asks the process that listens at an address for its name.
 * @returns null where no process listens
 */
export function askHolder(address: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(address)
      .setEncoding('utf8')
      .setTimeout(1_000, () => {
        resolve(unnamedHolder)
        // A busy holder would otherwise keep this process alive.
        socket.destroy()
      })
      .on('data', (text: string) => (answer += text))
      .on('end', () => resolve(answer === '' ? null : answer))
      .on('error', ({ code }: NodeJS.ErrnoException) => resolve(staleCodes.includes(code) ? null : unnamedHolder))
  })
}
