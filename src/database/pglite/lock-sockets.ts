import { connect, createServer, type Server } from 'node:net'

/** A socket that tells who has it, to whoever asks; it doesn't keep the process. */
export function tellingSocket(holder: string): Server {
  return createServer((socket) => socket.end(holder)).unref()
}

/** @throws where it can't listen there */
export function listenOnSocket(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

export function closeSocket(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

const silent = 'which does not say who it is'

/** What is met where nobody listens any more: only the file of a process that was killed, or not even that. */
const gone: readonly (string | undefined)[] = ['ECONNREFUSED', 'ECONNRESET', 'ENOENT']

/** Who listens there; null where nobody does. */
export function askHolder(address: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(address)
      .setEncoding('utf8')
      .setTimeout(1_000, () => {
        resolve(silent)
        // A busy holder would keep this process waiting for its answer.
        socket.destroy()
      })
      .on('data', (text: string) => (answer += text))
      .on('end', () => resolve(answer === '' ? null : answer))
      .on('error', ({ code }: NodeJS.ErrnoException) => resolve(gone.includes(code) ? null : silent))
  })
}
