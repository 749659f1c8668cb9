/*
 * Subscribers of a gateway's streams, in a process of their own: sockets that read what comes, and note for each snapshot
 * its value and when it came. Told by messages; see subscriber-process.ts.
 */
import { connect, type Socket } from 'node:net'

/** A message to the process. */
export type SubscriberOrder =
  /** Opens streams on the paths in turn. */
  | { readonly open: { readonly port: number; readonly paths: readonly string[]; readonly count: number } }
  /** Tells the arrivals since the last time, and forgets them. */
  | { readonly take: true }
  /** Closes all streams. */
  | { readonly close: true }

/** Snapshots as they came: the value of the vault, and the monotonic clock of the machine, in milliseconds. */
export type Arrivals = readonly (readonly [valueUsd: number, at: number])[]

/** Streams that one address opens: a gateway's limit. */
const perAddress = 20
const openedAtOnce = 100

const sockets = new Set<Socket>()
let arrivals: [number, number][] = []

process.on('message', (order: SubscriberOrder) => void obey(order).then((told) => process.send?.(told)))
process.on('disconnect', () => process.exit())

async function obey(order: SubscriberOrder): Promise<unknown> {
  if ('open' in order) return openAll(order.open)
  if ('close' in order) return closeAll()
  const taken = arrivals
  arrivals = []
  return taken
}

async function openAll({ port, paths, count }: Extract<SubscriberOrder, { open: unknown }>['open']): Promise<number> {
  let next = 0
  const opener = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) await open(port, paths[at % paths.length] ?? '', addressOf(at))
  }
  await Promise.all(Array.from({ length: openedAtOnce }, opener))
  return sockets.size
}

/** Linux has all of 127.0.0.0/8 without configuration. */
function addressOf(at: number): string {
  const host = Math.floor(at / perAddress) + 1
  return `127.1.${host >> 8}.${host & 255}`
}

/** Opens a stream; resolves with its first snapshot. */
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
        arrivals.push([Number(value), machineClock()])
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

/** Milliseconds of a clock that all processes of the machine share. */
function machineClock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
