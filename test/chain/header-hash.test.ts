import { type Hex, keccak256, toRlp } from 'viem'
import { describe, expect, test } from 'vitest'
import { HeaderHashes } from '../../src/chain/rpc/newest/header-hash.ts'
import { NodeFault } from '../../src/chain/errors.ts'

const word: Hex = `0x${'11'.repeat(32)}`

/** Returns a header of the first rules of Ethereum, whose fields give its hash. */
function header(number: number) {
  const fields: Record<string, Hex> = {
    parentHash: word,
    sha3Uncles: word,
    miner: `0x${'22'.repeat(20)}`,
    stateRoot: word,
    transactionsRoot: word,
    receiptsRoot: word,
    logsBloom: `0x${'00'.repeat(256)}`,
    difficulty: '0x1',
    number: `0x${number.toString(16).padStart(2, '0')}`,
    gasLimit: '0x10',
    gasUsed: '0x11',
    timestamp: '0x65000000',
    extraData: '0x',
    mixHash: word,
    nonce: '0x0000000000000001',
  }
  const bytes = Object.values(fields).map((value): Hex => (value.length % 2 === 0 ? value : `0x0${value.slice(2)}`))
  return { ...fields, hash: keccak256(toRlp(bytes)) }
}

const wrong = (number: number) => ({ ...header(number), timestamp: '0x65000001' })
const withOtherField = (number: number) => ({ ...header(number), laterFork: '0x1' })

describe('the hash of a header', () => {
  test('is that of its fields, which else are a fault of the node, until all nodes have stated them three times', () => {
    const hashes = new HeaderHashes(2)
    hashes.verify(header(1))
    for (let answers = 1; answers < 6; answers++) expect(() => hashes.verify(wrong(2))).toThrow(NodeFault)
    expect(() => hashes.verify(wrong(2))).not.toThrow()
  })

  test('is not verified before one was right, and with a field that is not known', () => {
    const hashes = new HeaderHashes(1)
    expect(() => hashes.verify(wrong(1))).not.toThrow()
    hashes.verify(header(1))
    expect(() => hashes.verify({ ...wrong(2), laterFork: '0x1' })).not.toThrow()
  })

  test.each([
    ['right', header],
    ['not verified', withOtherField],
  ])('of a block that was then stated otherwise, %s, is forgotten', (_, accepted) => {
    const hashes = new HeaderHashes(1)
    hashes.verify(header(1))
    for (let times = 0; times < 10; times++) {
      expect(() => hashes.verify(wrong(2))).toThrow(NodeFault)
      hashes.verify(accepted(2))
    }
  })

  test('is not verified any more once five blocks have another one', () => {
    const hashes = new HeaderHashes(1)
    hashes.verify(header(1))
    for (let number = 2; number < 7; number++) {
      for (let answers = 1; answers < 3; answers++) expect(() => hashes.verify(wrong(number))).toThrow(NodeFault)
      expect(() => hashes.verify(wrong(number))).not.toThrow()
    }
    expect(() => hashes.verify(wrong(7))).not.toThrow()
  })
})
