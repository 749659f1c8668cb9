import { connect, type Socket } from 'node:net'

/** A stream that an attacker has requested. */
export interface AttackStream {
  /** Resolves when the request has been written. */
  readonly sent: Promise<void>
  /** Resolves at the first bytes of the response, or when the connection closes. */
  readonly received: Promise<void>
  readonly ended: Promise<void>
  cut(): void
}

/** Options of a request for a stream. */
interface StreamOptions {
  /** Whether the response is read. */
  readonly isReading: boolean
  readonly lastEventId?: string
}

/** An attacker with one address. */
export interface StreamAttacker {
  readonly vaults: readonly string[]
  /** Data version of the first commit. */
  readonly oldest: string
  /** Resolves when the attack ends. */
  readonly ended: Promise<void>
  get(path: string, options: StreamOptions): AttackStream
  post(query: string, options: StreamOptions): AttackStream
  /** Writes raw bytes on a new connection. */
  raw(text: string): AttackStream
  close(): void
}

/** Options of an attacker. */
export interface StreamAttackerOptions {
  readonly port: number
  readonly localAddress: string
  readonly vaults: readonly string[]
  readonly oldest: string
  readonly ended: Promise<void>
  /** Numbers of responses by status, which are incremented. */
  readonly statuses: Map<string, number>
}

/** Creates an attacker. */
export function createStreamAttacker({ port, localAddress, statuses, ...rest }: StreamAttackerOptions): StreamAttacker {
  const sockets = new Set<Socket>()

  function openStream(text: string, isReading: boolean): AttackStream {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    sockets.add(socket)
    const sent = new Promise<void>((resolve) => socket.write(text, () => resolve()))
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    const received = new Promise<void>((resolve) => {
      socket.once('data', (bytes: Buffer) => {
        const status = bytes.toString('latin1', 9, 12)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (!isReading) socket.pause()
        resolve()
      })
      socket.once('close', () => resolve())
    })
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    if (isReading) socket.on('data', () => undefined)
    return { sent, received, ended, cut: () => void socket.destroy() }
  }

  return {
    ...rest,
    get(path, { isReading, lastEventId }) {
      const id = lastEventId === undefined ? '' : `last-event-id: ${lastEventId}\r\n`
      return openStream(`GET ${path} HTTP/1.1\r\nhost: x\r\n${id}\r\n`, isReading)
    },
    post(query, { isReading }) {
      const body = JSON.stringify({ query })
      const headers = `content-type: application/json\r\naccept: text/event-stream\r\ncontent-length: ${body.length}`
      return openStream(`POST /graphql HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n${body}`, isReading)
    },
    raw: (text) => openStream(text, true),
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
