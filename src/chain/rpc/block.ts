import { LRUCache } from 'lru-cache'
import { type Hex, isHex } from 'viem'
import { NodeFault } from '../errors.ts'

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

/** Characters of a log beside its data: an address, four topics, two hashes. */
const charactersOfLog = 500
/** Memory of an entry beside its logs, in characters. */
const charactersOfEntry = 200
/** Maximum number of blocks and filters whose only answer had no logs. */
const maxEmptyOnce = 20_000

/** Headers that are kept: those of final blocks, whose logs are read one by one. */
const maxKept = 1_024

/** Characters of the logs of these blocks that are kept. */
const maxKeptCharacters = 16 * 2 ** 20

/** Logs of blocks that are known by their hashes. */
class KeptLogs {
  readonly #logs = new LRUCache<string, readonly ChainLog[]>({
    maxSize: maxKeptCharacters,
    sizeCalculation: (logs, key) => sizeOf(key, logs),
  })
  readonly #emptyOnce = new LRUCache<string, true>({ max: maxEmptyOnce })

  get(key: string): readonly ChainLog[] | undefined {
    return this.#logs.get(key)
  }

  /** Keeps an answer; one without logs when it has come twice, since a node may have a block before its receipts. */
  keep(key: string, logs: readonly ChainLog[]): void {
    if (logs.length > 0 || this.#emptyOnce.delete(key)) this.#logs.set(key, logs)
    else this.#emptyOnce.set(key, true)
  }
}

function sizeOf(key: string, logs: readonly ChainLog[]): number {
  return key.length + charactersOfEntry + logs.reduce((sum, { data }) => sum + data.length + charactersOfLog, 0)
}

/** The newest final blocks of a chain, as far as its nodes have told them. */
export class NewestBlocks {
  /** Greatest number of a final block that any node has told. */
  number = -1
  #headers = new Map<number, Promise<Header>>()
  #logs = new KeptLogs()

  /** Notes that a node has told a block as final. */
  note({ number }: Pick<Header, 'number'>): void {
    this.number = Math.max(this.number, number)
  }

  /** Returns the header of a final block, which is kept as soon as it is being read. */
  headerAt(number: number, read: (number: number) => Promise<Header>): Promise<Header> {
    const kept = this.#headers.get(number)
    // The reader that has asked for it may give up sooner than others do.
    if (kept !== undefined) return kept.catch(() => read(number))
    const reading = read(number)
    this.#headers.set(number, reading)
    reading.catch(() => {
      if (this.#headers.get(number) === reading) this.#headers.delete(number)
    })
    const [oldest] = this.#headers.keys()
    if (oldest !== undefined && this.#headers.size > maxKept) this.#headers.delete(oldest)
    return reading
  }

  /**
   * Returns the logs of a block that match a filter, which are kept once they were read: whether tokens are gifts takes
   * those of the newest blocks at each mark.
   * @param filterKey unique to the filter
   */
  async logsAt(
    { hash }: Pick<Header, 'hash'>,
    filterKey: string,
    read: () => Promise<readonly ChainLog[]>,
  ): Promise<readonly ChainLog[]> {
    const key = `${hash} ${filterKey}`
    const cache = this.#logs
    const kept = cache.get(key)
    if (kept !== undefined) return kept
    const logs = await read()
    cache.keep(key, logs)
    return logs
  }

  /** Forgets all headers and logs, also those that are being read: one of them may be of a fork, or incomplete. */
  forgetAll(): void {
    this.#headers = new Map()
    this.#logs = new KeptLogs()
  }

  /** Forgets the number of the newest final block too, which a node has told wrongly: it is asked for again. */
  reset(): void {
    this.number = -1
    this.forgetAll()
  }

  /** Forgets the header of a block that nodes do not have any more. */
  forget(number: number): void {
    this.#headers.delete(number)
  }
}

/** A log with its position in the chain. */
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
  return sortLogs(value.map(readLog))
}

/**
 * Validates the logs of a block's receipts from a node's response.
 * @throws {NodeFault} when they have another form
 */
export function readReceiptLogs(value: unknown): ChainLog[] {
  if (!Array.isArray(value)) throw new NodeFault('gave no list of receipts')
  return readLogs(value.flatMap((receipt) => fieldsOf(receipt, 'a receipt')['logs']))
}

/** Sorts logs and removes duplicates: a log may match two filters, and some nodes return one twice. */
export function sortLogs(logs: readonly ChainLog[]): ChainLog[] {
  const once = new Map(logs.map((log) => [`${log.blockHash} ${log.logIndex}`, log]))
  return [...once.values()].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
}

function readLog(value: unknown): ChainLog {
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
