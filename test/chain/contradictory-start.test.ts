import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectChain } from '../../src/chain/setup.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, optionsOf, type ReaderMessage } from './support/reading.ts'

describeOnChain('a reader that connects to a node that has another newest block each time', () => {
  let chain: TestChain
  let protocol: Protocol

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    await chain.mine(10)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  /** Connects by way of a node that names a block as the newest one, and does not have it later, a number of times. */
  async function connect(times: number): Promise<{ messages: ReaderMessage[]; named: number }> {
    let named = 0
    let isReplaced = false
    const intercept: Intercept = async (request, pass) => {
      if (request.params[0] === 'latest') {
        named++
        isReplaced = false
      }
      const isOfHash = JSON.stringify(request.params).includes('blockHash')
      if (named > times) return pass()
      if (isOfHash) isReplaced = true
      if (isOfHash) return { error: { code: -32_000, message: 'header not found' } }
      const answer = await pass()
      const isOther = request.method === 'eth_getBlockByNumber' && isReplaced && 'result' in answer
      return isOther ? { result: { ...(answer.result as object), hash: `0x${'7'.repeat(64)}` } } : answer
    }
    const proxy = await startProxy(chain.url, intercept)
    const messages: ReaderMessage[] = []
    const options = optionsOf(chainJson(proxy.url, protocol, [{ address: protocol.usdc.address, firstBlock: 2 }]), {
      messages,
    })
    try {
      await connectChain(options, false)
      return { messages, named }
    } finally {
      await proxy.close()
    }
  }

  test('connects once the node keeps to its block', async () => {
    const { messages, named } = await connect(2)
    expect(named).toBe(3)
    expect(messages.filter(({ message }) => message === 'The chain is read again')).toHaveLength(2)
  })

  test('stops with the contradiction where it stays', async () => {
    await expect(connect(Infinity)).rejects.toThrow(
      /^Answers of the nodes lack logs or contradict each other, .*: block \d+ was 0x[0-9a-f]{64}, and is not any more$/,
    )
  })
})
