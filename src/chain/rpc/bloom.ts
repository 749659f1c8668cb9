import { type Hex, hexToBytes, keccak256 } from 'viem'
import { NodeFault } from '../errors.ts'
import type { ChainLog, Header } from './block.ts'
import { isRefusedForNumber } from './faults.ts'
import type { LogFilter, Node } from './node.ts'

/** Returns whether a block has a bloom filter: some chains leave it empty. */
export function hasBloom({ logsBloom }: Pick<Header, 'logsBloom'>): boolean {
  return /[1-9a-f]/.test(logsBloom.slice(2))
}

/**
 * Returns whether a block may contain logs of an address: false is certain, true may be a false positive.
 * @see Ethereum Yellow Paper, section 4.3.1
 */
export function mayHaveLogsOf(bloom: Hex, address: Hex): boolean {
  const bytes = hexToBytes(bloom)
  return bitsOf(address).every(([byte, bit]) => ((bytes[byte] ?? 0) & bit) !== 0)
}

/**
 * Returns whether a block may contain logs that match the addresses and the topics of a filter. False is certain, true
 * may be a false positive.
 */
export function mayMatch(bloom: Hex, { address = [], topics = [] }: LogFilter): boolean {
  const bytes = hexToBytes(bloom)
  const isSet = (value: Hex): boolean => bitsOf(value).every(([byte, bit]) => ((bytes[byte] ?? 0) & bit) !== 0)
  const addresses = [address].flat()
  const places = topics.flatMap((place) => (place === null ? [] : [[place].flat()]))
  return (addresses.length === 0 || addresses.some(isSet)) && places.every((place) => place.some(isSet))
}

/** Computes the bloom filter of a block with these logs. */
export function bloomOf(logs: readonly Pick<ChainLog, 'address' | 'topics'>[]): Hex {
  const bytes = new Uint8Array(256)
  for (const { address, topics } of logs) {
    for (const [byte, bit] of [address, ...topics].flatMap(bitsOf)) bytes[byte] = (bytes[byte] ?? 0) | bit
  }
  return `0x${Buffer.from(bytes).toString('hex')}`
}

/** Returns whether the second bloom filter has all bits of the first one. */
export function isCovered(bloom: Hex, by: Hex): boolean {
  return (BigInt(bloom) & ~BigInt(by)) === 0n
}

/**
 * Reads all logs of a block, from its receipts where one answer cannot hold them. The bloom filter of these logs must
 * have each bit of the header's filter.
 * @throws {NodeFault} when logs are missing
 */
export async function readAllLogs(node: Node, block: Header): Promise<ChainLog[]> {
  const all = await node.logsOf({}, block.hash).catch((error: unknown) => {
    if (isRefusedForNumber(error)) return node.receiptLogsOf(block.hash)
    throw error
  })
  return requireCovered(all, block)
}

/**
 * Reads the logs of a block that match a filter; where one answer cannot hold them, from the receipts of the block,
 * whose logs are verified as in {@link readAllLogs}. Anyone can make a contract log more than providers return at once.
 * @throws {NodeFault} when logs are missing, or the node has another block of that number
 */
export async function readMatchingLogs(
  node: Node,
  filter: LogFilter,
  { number, hash }: Pick<Header, 'number' | 'hash'>,
): Promise<ChainLog[]> {
  try {
    return await node.logsOf(filter, hash)
  } catch (error) {
    if (!isRefusedForNumber(error)) throw error
    const header = await node.block(number)
    if (header.hash !== hash) throw new NodeFault(`gave block ${number} as ${header.hash}, which is ${hash}`)
    const all = requireCovered(await node.receiptLogsOf(hash), header)
    return all.filter(matcherOf(filter))
  }
}

/** Some chains omit logs from their bloom filters: additional bits are accepted. */
function requireCovered(all: ChainLog[], { number, logsBloom }: Header): ChainLog[] {
  if (isCovered(logsBloom, bloomOf(all))) return all
  throw new NodeFault(`left out logs of block ${number}, by its bloom`)
}

/** Returns the function that tells whether a log matches a filter as eth_getLogs applies it. */
export function matcherOf({ address = [], topics = [] }: LogFilter): (log: ChainLog) => boolean {
  const setOf = (values: Hex | readonly Hex[]): Set<string> => new Set([values].flat().map((one) => one.toLowerCase()))
  const addresses = setOf(address)
  const places = topics.map((place) => (place === null ? null : setOf(place)))
  return (log) =>
    (addresses.size === 0 || addresses.has(log.address)) &&
    places.every((place, index) => {
      const topic = log.topics[index]
      return topic !== undefined && (place === null || place.has(topic))
    })
}

/**
 * Reads all logs of a block and requires consecutive log indexes, in the block or in each transaction: the bloom filter does
 * not reveal a missing log whose bits other logs set too.
 * @throws {NodeFault} when logs are missing
 */
export async function readGaplessLogs(node: Node, block: Header): Promise<ChainLog[]> {
  const all = await readAllLogs(node, block)
  const areOfBlock = all.every(({ logIndex }, index) => logIndex === index)
  if (areOfBlock || areNumberedByTransaction(all)) return all
  throw new NodeFault(`left out logs of block ${block.number}, by their numbers`)
}

/** Returns whether the logs of each transaction are numbered from 0, as some nodes do. */
function areNumberedByTransaction(logs: readonly ChainLog[]): boolean {
  const counts = new Map<Hex, number>()
  return logs.every(({ txHash, logIndex }) => {
    const count = counts.get(txHash) ?? 0
    counts.set(txHash, count + 1)
    return logIndex === count
  })
}

/**
 * Returns the three bits of a value in the 2048-bit filter: the low 11 bits of each of the first three byte pairs of
 * its Keccak-256 hash.
 * @see Ethereum Yellow Paper, section 4.3.1, function M3:2048
 */
function bitsOf(value: Hex): [byte: number, bit: number][] {
  const hash = keccak256(value, 'bytes')
  return [0, 2, 4].map((at) => {
    const index = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047
    return [255 - (index >> 3), 1 << (index & 7)]
  })
}
