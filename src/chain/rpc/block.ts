import { type Hex, isHex } from 'viem'
import { Contradiction, NodeFault } from '../errors.ts'

/** The fields of a block header that are used. */
export interface Header {
  readonly number: number
  readonly hash: Hex
  readonly parentHash: Hex
  /** Timestamp in Unix seconds. */
  readonly ts: number
  /** Bloom filter of the addresses and topics of the block's logs, 256 bytes. */
  readonly logsBloom: Hex
}

/**
 * Requires that time does not go back from one block to a later one: facts before that of a vault's newest would be lost.
 * @throws {Contradiction} when it does, because a node has stated a wrong time
 */
export function requireTimeOrder(earlier: Pick<Header, 'number' | 'ts'>, later: Pick<Header, 'number' | 'ts'>): void {
  if (later.ts >= earlier.ts) return
  const [before, after] = [earlier, later].map(({ number, ts }) => `block ${number} is of the time ${ts}`)
  throw new Contradiction(`${before}, and ${after}`)
}

/** A log with its position in the chain. */
export interface ChainLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly block: number
  readonly blockHash: Hex
  readonly txHash: Hex
  /** Place of its transaction in the block; 0 where the node does not tell it. */
  readonly txIndex: number
  readonly logIndex: number
}

/**
 * Validates a block from a node's response.
 * @throws {NodeFault} when it has another form
 */
export function readHeader(value: unknown): Header {
  const { number, hash, parentHash, timestamp, logsBloom } = fieldsOf(value, 'a block')
  return {
    number: readQuantity(number),
    hash: hex(hash, 32),
    parentHash: hex(parentHash, 32),
    ts: readQuantity(timestamp),
    logsBloom: hex(logsBloom, 256),
  }
}

/**
 * Validates logs from a node's response.
 * @returns the logs in the order of blocks and log indexes, each once
 * @throws {NodeFault} when they have another form
 */
export function readLogs(value: unknown): ChainLog[] {
  if (!Array.isArray(value)) throw new NodeFault('gave no list of logs')
  return sortLogs(value.map(decodeLog))
}

/**
 * Validates the logs of a block's receipts from a node's response.
 * @throws {NodeFault} when they have another form
 */
export function readReceiptLogs(value: unknown): ChainLog[] {
  if (!Array.isArray(value)) throw new NodeFault('gave no list of receipts')
  return readLogs(value.flatMap((receipt) => fieldsOf(receipt, 'a receipt')['logs']))
}

/** Returns what identifies a log. Some nodes number the logs of each transaction anew. */
export function keyOfLog({ blockHash, txHash, logIndex }: ChainLog): string {
  return `${blockHash} ${txHash} ${logIndex}`
}

/** Sorts logs and removes duplicates: a log may match two filters, and some nodes return one twice. */
export function sortLogs(logs: readonly ChainLog[]): ChainLog[] {
  const once = new Map(logs.map((log) => [keyOfLog(log), log]))
  return [...once.values()].sort(compareLogs)
}

/** Compares logs by their order in the chain: by transaction first, because some nodes number the logs of each one anew. */
export function compareLogs(a: ChainLog, b: ChainLog): number {
  return a.block - b.block || a.txIndex - b.txIndex || a.logIndex - b.logIndex
}

function decodeLog(value: unknown): ChainLog {
  const log = fieldsOf(value, 'a log')
  if (log['removed'] === true) throw new NodeFault('gave a log that is removed')
  if (!Array.isArray(log['topics'])) throw new NodeFault('gave a log without topics')
  return {
    address: hex(log['address'], 20),
    topics: log['topics'].map((topic) => hex(topic, 32)),
    data: hex(log['data']),
    block: readQuantity(log['blockNumber']),
    blockHash: hex(log['blockHash'], 32),
    txHash: hex(log['transactionHash'], 32),
    txIndex: log['transactionIndex'] == null ? 0 : readQuantity(log['transactionIndex']),
    logIndex: readQuantity(log['logIndex']),
  }
}

function fieldsOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new NodeFault(`gave ${formatted(value)} for ${what}`)
  return value as Record<string, unknown>
}

function hex(value: unknown, bytes?: number): Hex {
  if (!isHex(value) || (bytes !== undefined && value.length !== 2 + 2 * bytes)) {
    throw new NodeFault(`gave ${formatted(value)} for hex digits`)
  }
  return value.toLowerCase() as Hex
}

/**
 * Validates a number from a node's response.
 * @throws {NodeFault} when it is not a hex number, for example null
 */
export function readQuantity(value: unknown): number {
  const number = isHex(value) ? Number(value) : NaN
  if (!Number.isSafeInteger(number)) throw new NodeFault(`gave ${formatted(value)} for a number`)
  return number
}

function formatted(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80)
}
