import { type Hex, isHex, keccak256, toRlp } from 'viem'
import { NodeFault } from '../../errors.ts'

/**
 * The fields of a header in the order in which they are hashed. The first ones are in every header, the others since a fork.
 * @see Ethereum Yellow Paper, section 4.4; EIP-1559, EIP-4895, EIP-4844, EIP-4788, EIP-7685
 */
const hashed = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'difficulty'],
  ...['number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce', 'baseFeePerGas'],
  ...['withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
]
const firstOptional = hashed.indexOf('baseFeePerGas')
const numbers = [
  'difficulty',
  'number',
  'gasLimit',
  'gasUsed',
  'timestamp',
  ...['baseFeePerGas', 'blobGasUsed', 'excessBlobGas'],
]
/** All fields of a block that are known: those of its header, and those that are not hashed with it. */
const known = new Set([...hashed, 'hash', 'size', 'totalDifficulty', 'transactions', 'uncles', 'withdrawals'])

/**
 * Number of answers of each node about one block, with another hash, after which the block counts as it is; and of such
 * blocks, after which the chain has other rules.
 */
const [maxAnswers, maxBlocks] = [3, 5]

/**
 * Notices headers that a node of a chain states wrongly, such as with another time, because their fields do not give
 * their hash. A chain may have other fields or rules, now or after a fork: then its headers count as they are.
 */
export class HeaderHashes {
  /** The lists of keys of headers whose fields gave their hash; null where headers are not verified any more. */
  #proven: Set<string> | null = new Set()
  /** The blocks whose fields have not given their hash yet, with the number of such answers. */
  readonly #doubted = new Map<unknown, number>()
  /** Number of blocks whose fields do not give their hash by any node. */
  #others = 0

  /** @param nodes number of nodes whose headers are verified */
  constructor(readonly nodes: number) {}

  /**
   * Verifies the hash of a header.
   * @throws {NodeFault} where its fields do not give it, and those of a header with the same keys did
   */
  verify(block: Readonly<Record<string, unknown>>): void {
    const keys = Object.keys(block).filter((key) => block[key] != null)
    const hash = keys.every((key) => known.has(key)) ? hashOf(block) : null
    const number = block['number']
    const list = keys.sort().join(' ')
    const isRight = hash === String(block['hash']).toLowerCase()
    if (isRight) this.#proven?.add(list)
    if (isRight || hash === null || this.#proven?.has(list) !== true) {
      // The block counts as it is.
      this.#doubted.delete(number)
      return
    }
    const answers = (this.#doubted.get(number) ?? 0) + 1
    this.#doubted.set(number, answers)
    if (answers < maxAnswers * this.nodes) {
      throw new NodeFault(`gave fields of block ${Number(number)} that don't give its hash`)
    }
    this.#doubted.delete(number)
    if (++this.#others >= maxBlocks) this.#proven = null
  }
}

/** Computes the hash of a header; null where a field is missing that every header has. */
function hashOf(block: Readonly<Record<string, unknown>>): Hex | null {
  const fields: Hex[] = []
  for (const [index, key] of hashed.entries()) {
    const value = block[key]
    if (isHex(value)) fields.push(numbers.includes(key) ? bytesOf(BigInt(value)) : value)
    else if (index < firstOptional) return null
  }
  return keccak256(toRlp(fields))
}

/** Returns the bytes of a number, without leading zeros. */
function bytesOf(number: bigint): Hex {
  const digits = number === 0n ? '' : number.toString(16)
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}
