import { isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { IncomingRequest } from './incoming-request.ts'

/** Name shared by all senders whose address cannot be parsed. */
const unknownSender = 'unknown'

/**
 * Upper limit on the length of an address in characters: an IPv6 address with brackets, a zone and a port is shorter.
 */
const longestAddress = 100

/**
 * Returns the sender of a request, by its address. Each trusted proxy appends the address of its client to
 * X-Forwarded-For; the client can forge the entries before those.
 * @returns one name for all spellings of the address, as returned by {@link senderOfAddress}
 */
export function senderOf(request: IncomingRequest, trustedProxies: number): string {
  const address = trustedProxies === 0 ? null : entryFromEnd(request.header('x-forwarded-for') ?? '', trustedProxies)
  return senderOfAddress(address ?? request.remoteAddress ?? '')
}

/**
 * Returns an entry of a comma-separated list, counted from its end; null if it is empty or there are fewer entries. The
 * list is not split, so that entries forged by a client cost nothing.
 */
function entryFromEnd(list: string, place: number): string | null {
  let end = list.length
  for (let passed = 1; passed < place; passed++) {
    if (end === 0) return null
    end = list.lastIndexOf(',', end - 1)
    if (end < 0) return null
  }
  const start = end === 0 ? 0 : list.lastIndexOf(',', end - 1) + 1
  const entry = list.slice(start, end).trim()
  return entry === '' ? null : entry
}

/**
 * Returns one name for all spellings of an address, and for all addresses of an IPv6 /64 network, the smallest
 * allocation of a subscriber (RFC 6177).
 * @param text an address, with or without brackets, port and zone, as proxies write it (RFC 7239, section 6)
 * @returns an IPv4 address, the first 64 bits of an IPv6 address, or `unknown`
 */
export function senderOfAddress(text: string): string {
  if (text.length > longestAddress) return unknownSender
  const known = senders.get(text)
  if (known !== undefined) return known
  // A copy: a substring of a header keeps the whole header in memory, for as long as the sender is counted.
  const copied = Array.from(text).join('')
  const sender = parsedSender(copied)
  senders.set(copied, sender)
  return sender
}

/**
 * Parsed addresses: parsing one takes longer than the rest of a short request, and clients send many requests from one.
 */
const senders = new LRUCache<string, string>({ max: 1_000 })

function parsedSender(text: string): string {
  const address = withoutPort(text)
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return unknownSender
  const canonical = canonicalOf(address)
  return ipv4Of(canonical) ?? `${firstGroups(canonical).join(':')}::/64`
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1]
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : ''
  return /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
}

/** Returns an IPv6 address in the format of RFC 5952. */
function canonicalOf(address: string): string {
  const zone = address.indexOf('%')
  return new SocketAddress({ family: 'ipv6', address: zone < 0 ? address : address.slice(0, zone) }).address
}

/**
 * Returns the IPv4 address that an IPv6 address stands for: as a mapped one (RFC 4291, 2.5.5.2), or behind the well-known
 * prefix of translators, which puts all clients of IPv4 into one /64 (RFC 6052, 2.1).
 */
function ipv4Of(canonical: string): string | null {
  const mapped = /^::ffff:([\d.]+)$/.exec(canonical)?.[1]
  if (mapped !== undefined) return mapped
  const translated = /^64:ff9b::(?:(?:([\da-f]{1,4}):)?([\da-f]{1,4}))?$/.exec(canonical)
  if (translated === null) return null
  const halves = [translated[1], translated[2]].map((digits = '0') => Number.parseInt(digits, 16))
  return halves.flatMap((half) => [half >> 8, half & 255]).join('.')
}

/** Returns the first 64 bits of an IPv6 address, in four groups. */
function firstGroups(canonical: string): readonly string[] {
  const [head = '', tail] = canonical.split('::')
  const groups = groupsOf(head)
  if (tail === undefined) return groups.slice(0, 4)
  const last = groupsOf(tail)
  const length = last.length + (tail.includes('.') ? 1 : 0)
  const zeros = Array.from({ length: 8 - groups.length - length }, () => '0')
  return [...groups, ...zeros, ...last].slice(0, 4)
}

function groupsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(':')
}

const ofSockets = new WeakMap<Socket, string>()

/** Returns the sender of a connection, by its peer's address; cached, because a closed socket has no address. */
export function senderOfSocket(socket: Socket): string {
  const known = ofSockets.get(socket)
  if (known !== undefined) return known
  const sender = senderOfAddress(socket.remoteAddress ?? '')
  ofSockets.set(socket, sender)
  return sender
}
