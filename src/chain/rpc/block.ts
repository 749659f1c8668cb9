import { type Hex, isHex } from 'viem'
import { NodeFault } from '../errors.ts'

/** A block's header, as far as it is read. */
export interface Header {
  readonly number: number
  readonly hash: Hex
  readonly parentHash: Hex
  /** Unix seconds. */
  readonly ts: number
  /** 256 bytes in which the addresses and topics of its logs leave their marks. */
  readonly logsBloom: Hex
}

/** A log, where it stands and what it says. */
export interface ChainLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly block: number
  readonly blockHash: Hex
  readonly txHash: Hex
  readonly logIndex: number
}

/**
 * Checks a block as a node gives it.
 * @throws {NodeFault} where it isn't one
 */
export function readHeader(value: unknown): Header {
  const { number, hash, parentHash, timestamp, logsBloom } = fieldsOf(value, 'a block')
  return {
    number: count(number),
    hash: hex(hash, 32),
    parentHash: hex(parentHash, 32),
    ts: count(timestamp),
    logsBloom: hex(logsBloom, 256),
  }
}

/**
 * Checks logs as a node gives them, and puts them in order.
 * @throws {NodeFault} where they aren't ones
 */
export function readLogs(value: unknown): ChainLog[] {
  if (!Array.isArray(value)) throw new NodeFault('gave no list of logs')
  return value.map(readLog).sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
}

function readLog(value: unknown): ChainLog {
  const log = fieldsOf(value, 'a log')
  if (log['removed'] === true) throw new NodeFault('gave a log that is removed')
  if (!Array.isArray(log['topics'])) throw new NodeFault('gave a log without topics')
  return {
    address: hex(log['address'], 20),
    topics: log['topics'].map((topic) => hex(topic, 32)),
    data: hex(log['data']),
    block: count(log['blockNumber']),
    blockHash: hex(log['blockHash'], 32),
    txHash: hex(log['transactionHash'], 32),
    logIndex: count(log['logIndex']),
  }
}

function fieldsOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new NodeFault(`gave ${shown(value)} for ${what}`)
  return value as Record<string, unknown>
}

function hex(value: unknown, bytes?: number): Hex {
  if (!isHex(value) || (bytes !== undefined && value.length !== 2 + 2 * bytes)) {
    throw new NodeFault(`gave ${shown(value)} for hex digits`)
  }
  return value.toLowerCase() as Hex
}

function count(value: unknown): number {
  const number = isHex(value) ? Number(value) : NaN
  if (!Number.isSafeInteger(number)) throw new NodeFault(`gave ${shown(value)} for a number`)
  return number
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80)
}
