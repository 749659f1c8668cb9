import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { createClient, graphqlHeaders, type HttpRequest } from '../client.ts'

/** Addresses of the vaults that attacks read. */
export interface AttackTarget {
  /** Vaults with a long equity series. */
  readonly longSeriesVaults: readonly string[]
  readonly shortSeriesVaults: readonly string[]
  /** The vault with the long ledger. */
  readonly ledger: string
}

/** A TCP connection to which an attacker writes raw bytes. */
export interface AttackConnection {
  readonly socket: Socket
  /** Resolves when the kernel has accepted the bytes, or the connection has closed. */
  write(bytes: string | Buffer): Promise<void>
}

/** Number of responses by HTTP status; 0 counts requests that failed without a response. */
export type Statuses = Map<number, number>

/** Connections of one attacker, with the methods by which an attack sends requests. */
export interface Attacker {
  readonly target: AttackTarget
  /** Whether this is the only attacker. */
  readonly isAlone: boolean
  hasEnded(): boolean
  /** Resolves when the attack ends. */
  readonly ended: Promise<void>
  /** Sends a request on the attacker's keep-alive connection, and reads the response. */
  send(request: HttpRequest): Promise<void>
  get(target: string, headers?: Readonly<Record<string, string>>): Promise<void>
  graphql(body: GraphqlBody): Promise<void>
  /**
   * Opens a raw connection.
   * @param readsResponses whether responses are read and their statuses counted; otherwise the socket stays paused
   */
  open(readsResponses: boolean): Promise<AttackConnection>
}

/** JSON body of a GraphQL request. */
export interface GraphqlBody {
  readonly query: string
  readonly variables?: unknown
  readonly operationName?: string
}

/** Options of an attacker. */
export interface AttackerOptions {
  readonly port: number
  readonly target: AttackTarget
  readonly isAlone: boolean
  /** Aborted when the attack ends. */
  readonly endSignal: AbortSignal
  readonly statuses: Statuses
  /** Local address of the raw connections. */
  readonly localAddress: string
}

/**
 * Creates an attacker.
 * @returns the attacker, and a function that closes all its connections
 */
export function createAttacker(options: AttackerOptions): { attacker: Attacker; close: () => void } {
  const { port, target, isAlone, endSignal, statuses, localAddress } = options
  const client = createClient(port, 1)
  const sockets = new Set<Socket>()
  const count = (status: number): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1)

  const send = async (request: HttpRequest): Promise<void> => {
    const status = await client.send(request).then(
      ({ status }) => status,
      () => 0,
    )
    // Requests without a response after the end were cut by the attacker, not by the gateway.
    if (!endSignal.aborted || status !== 0) count(status)
  }
  const attacker: Attacker = {
    target,
    isAlone,
    hasEnded: () => endSignal.aborted,
    ended: new Promise((resolve) => endSignal.addEventListener('abort', () => resolve(), { once: true })),
    send,
    get: (path, headers = {}) => send({ method: 'GET', target: path, headers }),
    graphql: (body) =>
      send({ method: 'POST', target: '/graphql', headers: graphqlHeaders, body: JSON.stringify(body) }),
    async open(readsResponses) {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => sockets.delete(socket))
      if (readsResponses) countStatuses(socket, count)
      else socket.pause()
      await once(socket, 'connect').catch(() => undefined)
      return { socket, write: (bytes) => writeBytes(socket, bytes) }
    },
  }
  const close = (): void => {
    client.close()
    for (const socket of sockets) socket.destroy()
  }
  return { attacker, close }
}

/** Writes bytes; resolves when the kernel has accepted them, or the socket has closed. */
function writeBytes(socket: Socket, bytes: string | Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) return resolve()
    socket.once('close', resolve)
    socket.write(bytes, () => {
      socket.off('close', resolve)
      resolve()
    })
  })
}

const statusLine = /HTTP\/1\.1 (\d{3}) /g

/** Counts the responses on a connection by status; a status line that is split across two chunks is missed. */
function countStatuses(socket: Socket, count: (status: number) => void): void {
  socket.setEncoding('latin1').on('data', (text: string) => {
    for (const [, status] of text.matchAll(statusLine)) count(Number(status))
  })
}

/** Waits for a time, but not beyond the end of the attack. */
export async function pause({ ended }: Attacker, milliseconds: number): Promise<void> {
  await Promise.race([ended, wait(milliseconds, undefined, { ref: false })])
}
