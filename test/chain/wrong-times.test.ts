import { type Address, hexToNumber, numberToHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { randomOf } from './support/random.ts'
import { chainJson, linesOf, type ReaderMessage } from './support/reading.ts'

interface Block {
  readonly number: `0x${string}`
  readonly timestamp: `0x${string}`
}

/** A field as of Arbitrum, which makes that headers are not verified by their hashes. */
const unknownField = { l1BlockNumber: '0x1' }

describeOnChain('a reader of a node that states the wrong time of a block', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let right: string[]
  const deposits: number[] = []

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    for (let round = 0; round < 10; round++) {
      await chain.block(vault.deposit(alice, usdc(20)))
      deposits.push(await chain.head())
      await chain.block(vault.withdraw(alice, usdc(1)))
      await chain.mine(round === 5 ? 60 : 3)
    }
    right = await linesOf(jsonOf(chain.url))
    expect(right.filter((line) => line.includes('"deposit"'))).toHaveLength(10)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...urls: readonly string[]) =>
    chainJson(urls, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])

  /** Reads from a node that states another time for the block of a deposit, in its first answers about that block. */
  async function readWith(
    deposit: number,
    seconds: number,
    wrongAnswers: number,
    messages: ReaderMessage[],
    more: object = unknownField,
  ): Promise<string[]> {
    let answers = 0
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getBlockByNumber' || !('result' in answer)) return answer
      const block = { ...(answer.result as Block), ...more }
      if (hexToNumber(block.number) !== deposits[deposit] || ++answers > wrongAnswers) return { result: block }
      return { result: { ...block, timestamp: numberToHex(hexToNumber(block.timestamp) + seconds) } }
    })
    try {
      return await linesOf(jsonOf(proxy.url), messages)
    } finally {
      expect(answers).toBeGreaterThan(0)
      await proxy.close()
    }
  }

  test.each([
    ['an old block, which is later', 2, 200],
    ['an old block, which is earlier', 2, -200],
    ['one of the newest blocks, which is later', 8, 200],
    ['one of the newest blocks, which is earlier', 8, -200],
  ])('once, of %s, reads it again, and loses no fact', async (_name, deposit, seconds) => {
    const messages: ReaderMessage[] = []
    expect(await readWith(deposit, seconds, 1, messages)).toEqual(right)
    const warnings = messages
      .filter(({ level }) => level !== 'info')
      .map(({ message, facts }) => [message, facts['reason']])
    const reason = expect.stringMatching(/^block \d+ is of the time \d+, and block \d+ is of the time \d+$/) as string
    expect(warnings).toEqual([['The chain is read again', reason]])
  })

  test.each([
    ['an old block', 2, 1],
    ['one of the newest blocks', 8, 2],
  ])('once, of %s, between those of its neighbours, asks again', async (_name, deposit, wrongAnswers) => {
    const messages: ReaderMessage[] = []
    expect(await readWith(deposit, 5, wrongAnswers, messages, {})).toEqual(right)
    const reasons = messages.filter(({ level }) => level === 'warn').map(({ facts }) => facts['reason'])
    const reason = `gave fields of block ${deposits[deposit]} that don't give its hash`
    expect(reasons).toEqual(reasons.map(() => reason))
    expect(reasons.length).toBeGreaterThan(0)
  })

  test('of many blocks, where another node states the right ones, asks that one', async () => {
    const random = randomOf(7)
    const wrong = new Set<number>()
    const liar = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      const isOfNumber = request.method === 'eth_getBlockByNumber' && request.params[0] !== 'latest'
      if (!isOfNumber || !('result' in answer) || random() > 0.3) return answer
      const block = answer.result as Block
      wrong.add(hexToNumber(block.number))
      return { result: { ...block, timestamp: numberToHex(hexToNumber(block.timestamp) + 5) } }
    })
    expect(await linesOf(jsonOf(liar.url, chain.url))).toEqual(right)
    expect(wrong.size).toBeGreaterThan(10)
    await liar.close()
  })

  test.each([
    ['from the first one on', 0],
    ['of which most have their hash', 5],
    ['from a fork on', 60],
  ])('reads a chain whose headers have other hashes, %s', async (_name, some) => {
    let others = 0
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getBlockByNumber' || !('result' in answer)) return answer
      const block = answer.result as Block
      const number = hexToNumber(block.number)
      const isOther = some === 0 || (some < 10 ? number % some === 0 : number > (deposits[4] ?? 0))
      if (isOther) others++
      return isOther ? { result: { ...block, gasLimit: '0x1' } } : answer
    })
    expect(await linesOf(jsonOf(proxy.url))).toEqual(right)
    expect(others).toBeGreaterThan(10)
    await proxy.close()
  })

  test.each([
    ['later', 200],
    ['earlier', -200],
  ])('always, which is %s, ends with the numbers and times of the blocks', async (_name, seconds) => {
    const messages: ReaderMessage[] = []
    await expect(readWith(8, seconds, Infinity, messages)).rejects.toThrow(
      /block \d+ is of the time \d+, and block \d+ is of the time \d+$/,
    )
  })
})
