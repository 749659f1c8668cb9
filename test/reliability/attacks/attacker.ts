import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Asked, clientOf } from '../client.ts'

/** Vaults that an attack can aim at. */
export interface Target {
  /** Addresses of vaults with a long series. */
  readonly long: readonly string[]
  readonly short: readonly string[]
  /** Address of the vault with the long ledger. */
  readonly ledger: string
}

/** A connection on which bytes are written as they are. */
export interface Wire {
  readonly socket: Socket
  /** Resolves when the kernel has taken them, or the connection is closed. */
  write(bytes: string | Buffer): Promise<void>
}

/** How many answers had each status; 0 where a connection ended without one. */
export type Statuses = Map<number, number>

/** One attacker: what it sends requests by, until its time is over. */
export interface Attacker {
  readonly target: Target
  /** Whether it attacks alone, else as one of many. */
  readonly isAlone: boolean
  isOver(): boolean
  /** Resolves when its time is over. */
  readonly over: Promise<void>
  /** Asks on the attacker's own connection, which is kept, and reads the answer. */
  ask(asked: Asked): Promise<void>
  get(target: string, headers?: Readonly<Record<string, string>>): Promise<void>
  graphql(body: GraphqlBody): Promise<void>
  /** @param reads whether what comes is read, and its statuses counted */
  open(reads: boolean): Promise<Wire>
}

export interface GraphqlBody {
  readonly query: string
  readonly variables?: unknown
  readonly operationName?: string
}

export interface AttackerOptions {
  readonly port: number
  readonly target: Target
  readonly isAlone: boolean
  readonly over: AbortSignal
  readonly statuses: Statuses
  /** Address that the attacker's own connections come from. */
  readonly localAddress: string
}

/** @returns the attacker, and what closes all of its connections */
export function createAttacker(options: AttackerOptions): { attacker: Attacker; close: () => void } {
  const { port, target, isAlone, over, statuses, localAddress } = options
  const client = clientOf(port, 1)
  const sockets = new Set<Socket>()
  const count = (status: number): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1)

  const ask = async (asked: Asked): Promise<void> => {
    const status = await client.ask(asked).then(
      (answered) => answered.status,
      () => 0,
    )
    // What the attacker itself has cut says nothing of the gateway.
    if (!over.aborted || status !== 0) count(status)
  }
  const attacker: Attacker = {
    target,
    isAlone,
    isOver: () => over.aborted,
    over: new Promise((resolve) => over.addEventListener('abort', () => resolve(), { once: true })),
    ask,
    get: (path, headers = {}) => ask({ method: 'GET', target: path, headers }),
    graphql: (body) => ask({ method: 'POST', target: '/graphql', headers: jsonHeaders, body: JSON.stringify(body) }),
    async open(reads) {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => sockets.delete(socket))
      if (reads) countStatuses(socket, count)
      else socket.pause()
      await once(socket, 'connect').catch(() => undefined)
      return { socket, write: (bytes) => written(socket, bytes) }
    },
  }
  const close = (): void => {
    client.close()
    for (const socket of sockets) socket.destroy()
  }
  return { attacker, close }
}

export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }

function written(socket: Socket, bytes: string | Buffer): Promise<void> {
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

/** Counts the status lines of what comes; one that is cut between two chunks is not. */
function countStatuses(socket: Socket, count: (status: number) => void): void {
  socket.setEncoding('latin1').on('data', (text: string) => {
    for (const [, status] of text.matchAll(statusLine)) count(Number(status))
  })
}

/** Waits a while, and no longer than the attack lasts. */
export async function pause({ over }: Attacker, milliseconds: number): Promise<void> {
  await Promise.race([over, wait(milliseconds, undefined, { ref: false })])
}
