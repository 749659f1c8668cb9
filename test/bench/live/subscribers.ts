/*
 * Program of the subscriber process: opens streams of server-sent events, and records the value and the time of each
 * snapshot. It receives commands as IPC messages, and answers each; see subscriber-process.ts.
 */
import { connect, type Socket } from 'node:net'

/** An IPC message to the process. */
export type SubscriberCommand =
  /** Opens `count` streams on the paths in turn; answered with their number when each has received a snapshot. */
  | { readonly open: { readonly port: number; readonly paths: readonly string[]; readonly count: number } }
  /** Answered with the snapshots that were received since the last such command. */
  | { readonly take: true }
  /** Closes all streams; answered when they are closed. */
  | { readonly close: true }

/** Snapshots in the order of their arrival: value of the vault, and monotonic time of the machine in milliseconds. */
export type ReceivedSnapshots = readonly (readonly [valueUsd: number, at: number])[]

/** Maximum number of streams that a gateway permits to one address. */
const streamsPerAddress = 20
const concurrentOpens = 100

const sockets = new Set<Socket>()
let received: [number, number][] = []

process.on('message', (command: SubscriberCommand) => void execute(command).then((result) => process.send?.(result)))
process.on('disconnect', () => process.exit())

/** Executes a command, and returns the answer to it. */
async function execute(command: SubscriberCommand): Promise<unknown> {
  if ('open' in command) return openAll(command.open)
  if ('close' in command) return closeAll()
  const taken = received
  received = []
  return taken
}

async function openAll({ port, paths, count }: Extract<SubscriberCommand, { open: unknown }>['open']): Promise<number> {
  let next = 0
  const opener = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) await open(port, paths[at % paths.length] ?? '', localAddressOf(at))
  }
  await Promise.all(Array.from({ length: concurrentOpens }, opener))
  return sockets.size
}

/** Returns the local address of a stream by its index. On Linux, all of 127.0.0.0/8 is local. */
function localAddressOf(at: number): string {
  const host = Math.floor(at / streamsPerAddress) + 1
  return `127.1.${host >> 8}.${host & 255}`
}

/** Opens a stream; resolves when its first snapshot is received. */
function open(port: number, path: string, localAddress: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    sockets.add(socket)
    socket.setEncoding('latin1')
    socket.on('error', reject)
    socket.on('close', () => sockets.delete(socket))
    socket.once('close', () =>
      reject(new Error(`A stream was closed before its first snapshot: ${text.slice(0, 200)}`)),
    )
    let text = ''
    socket.on('data', (chunk: string) => {
      text += chunk
      const end = text.lastIndexOf('\n\n')
      if (end < 0) return
      for (const [, value] of text.slice(0, end).matchAll(/"valueUsd":([\d.]+)/g)) {
        received.push([Number(value), machineClock()])
        resolve()
      }
      text = text.slice(end)
    })
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n`)
  })
}

function closeAll(): Promise<number> {
  for (const socket of sockets) socket.destroy()
  return new Promise((resolve) => setTimeout(() => resolve(sockets.size), 100))
}

/** Returns milliseconds of the monotonic clock, which all processes of the machine share. */
function machineClock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
