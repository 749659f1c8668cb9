import { readFileSync } from 'node:fs'
import { AmountsByClient, fairShare } from '../../fairness/budget.ts'
import { connectionLimits } from '../../limits/connections.ts'
import { senderOfAddress } from '../sender.ts'

export interface ConnectionCounterOptions {
  /** Maximum number of open connections, without streams. */
  readonly maxConnections: number
  /** Maximum number of open connections and streams together; unlimited if absent. */
  readonly maxWithStreams?: number
  /** Whether all clients connect through proxies, whose few addresses represent all clients. */
  readonly isBehindProxies?: boolean
  /** Called with the number of open connections whenever it changes. */
  readonly onOpen?: ((open: number) => void) | undefined
  /** Called for each refused connection. */
  readonly onRefused?: (() => void) | undefined
}

/** Counts the connections of one server, in total and by client address. */
export interface ConnectionCounter {
  readonly open: number
  /**
   * Counts a connection.
   * @param address of the peer
   * @returns null if the connection is refused and not counted
   */
  admit(address: string | undefined): CountedConnection | null
}

/** A connection that is counted. */
export interface CountedConnection {
  /** Its client, by {@link senderOfAddress}. */
  readonly sender: string
  /** Counts it as a stream from now on; streams have a separate limit. */
  countAsStream(): void
  /** Stops counting it: it has closed. */
  leave(): void
}

/**
 * Creates a counter with limits on open connections. An IPv4 address and an IPv6 /48 network may each use a
 * {@link fairShare} of the connections that the others leave, so that dozens cannot lock out the others. Behind proxies
 * there is no such share, because the gateway sees only the proxies' addresses.
 */
export function createConnectionCounter(options: ConnectionCounterOptions): ConnectionCounter {
  const { maxConnections, maxWithStreams = Infinity, isBehindProxies = false, onOpen, onRefused } = options
  /** Open connections that are not streams. */
  const connections = new AmountsByClient()
  let streams = 0

  const open = (): number => connections.total + streams

  /** Returns whether a sender's client may open one more. */
  function hasShare(sender: string): boolean {
    const ofClient = connections.of(sender)
    const max = Math.min(maxConnections, maxWithStreams - streams)
    const left = max - (connections.total - ofClient)
    return ofClient < (isBehindProxies ? left : fairShare(max, left))
  }

  function admitted(sender: string): CountedConnection {
    let isStream = false
    let hasLeft = false
    return {
      sender,
      countAsStream() {
        if (isStream || hasLeft) return
        isStream = true
        connections.add(sender, -1)
        streams++
      },
      leave() {
        if (hasLeft) return
        hasLeft = true
        if (isStream) streams--
        else connections.add(sender, -1)
        onOpen?.(open())
      },
    }
  }

  return {
    get open() {
      return open()
    },

    admit(address) {
      const sender = senderOfAddress(address ?? '')
      if (!hasShare(sender)) {
        onRefused?.()
        return null
      }
      connections.add(sender, 1)
      onOpen?.(open())
      return admitted(sender)
    },
  }
}

/**
 * Returns the number of connections that leaves file descriptors for other uses: all but the reserve, or half of the
 * process's limit if that is more.
 * @param connections limit on connections regardless of descriptors
 * @param elsewhere descriptors that other connections of this process may take, in addition to the reserve
 * @param limit of descriptors of the process; null if it is unknown
 */
export function connectionsWithin(connections: number, elsewhere: number, limit = descriptorLimit()): number {
  if (limit === null) return connections
  const left = Math.max(limit - connectionLimits.reservedDescriptors - elsewhere, Math.floor(limit / 2))
  return Math.max(1, Math.min(connections, left))
}

/**
 * Returns the limit on file descriptors of this process, read from Linux's procfs; null on other systems, or if there
 * is no limit.
 */
export function descriptorLimit(): number | null {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}
