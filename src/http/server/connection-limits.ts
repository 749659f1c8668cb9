import { readFileSync } from 'node:fs'
import { connectionLimits } from '../../limits.ts'
import { senderOfAddress } from '../sender.ts'

export interface ConnectionLimitsOptions {
  /** Connections that may be open at once. */
  readonly most: number
  /** Whether all clients come by proxies, whose few addresses stand for everybody. */
  readonly isBehindProxies?: boolean
  /** Is told how many connections are open, whenever that changes. */
  readonly onOpen?: ((open: number) => void) | undefined
  /** Is told of each connection that is refused. */
  readonly onRefused?: (() => void) | undefined
}

/** The connections of one server, in all and by the address that they come from. */
export interface ConnectionLimits {
  readonly open: number
  /**
   * Counts a connection.
   * @param address of its other end
   * @returns what counts it no more when it has closed; null where it is refused, which counts nothing
   */
  admit(address: string | undefined): (() => void) | null
}

/**
 * Limits how many connections are open. One IPv4 address, or one IPv6 network of 64 bits, may have half of them, so that
 * it cannot lock out all others; behind proxies, which show their own addresses, there is no such share.
 */
export function createConnectionLimits(options: ConnectionLimitsOptions): ConnectionLimits {
  const { most, isBehindProxies = false, onOpen, onRefused } = options
  const mostOfSender = isBehindProxies ? most : Math.ceil(most / 2)
  const ofSenders = new Map<string, number>()
  let open = 0

  function leave(sender: string): void {
    const left = (ofSenders.get(sender) ?? 1) - 1
    if (left === 0) ofSenders.delete(sender)
    else ofSenders.set(sender, left)
    onOpen?.(--open)
  }

  return {
    get open() {
      return open
    },

    admit(address) {
      const sender = senderOfAddress(address ?? '')
      const ofSender = ofSenders.get(sender) ?? 0
      if (open >= most || ofSender >= mostOfSender) {
        onRefused?.()
        return null
      }
      ofSenders.set(sender, ofSender + 1)
      onOpen?.(++open)
      return () => leave(sender)
    },
  }
}

/**
 * The number of connections that leaves file descriptors for all else: the reserve, or half of what the process may have
 * where that is less.
 * @param connections that may be open where descriptors do not matter
 * @param elsewhere descriptors that others of this process's connections may take, beyond the reserve
 * @param limit of descriptors of the process; null where it is not known
 */
export function connectionsWithin(connections: number, elsewhere: number, limit = descriptorLimit()): number {
  if (limit === null) return connections
  const left = Math.max(limit - connectionLimits.reservedDescriptors - elsewhere, Math.floor(limit / 2))
  return Math.max(1, Math.min(connections, left))
}

/** How many file descriptors this process may have, as Linux tells; null elsewhere, or where there is no limit. */
export function descriptorLimit(): number | null {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}
