import { type Address, hexToNumber } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChainDiverged } from '../../src/chain/errors.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, linesOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'

/** More requests than the check for a reorganised final block takes. */
const awayForRequests = 25
const odd = `0x${'7'.repeat(64)}`

describeOnChain('a reader of two nodes, of which one is on another fork', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let right: string[]
  let firstOdd: number

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    for (let round = 0; round < 6; round++) await chain.block(vault.deposit(alice, usdc(20)))
    firstOdd = await chain.head()
    for (let round = 0; round < 6; round++) await chain.block(vault.deposit(alice, usdc(20)))
    await chain.mine(4)
    right = await linesOf(jsonOf(chain.url))
    expect(right.filter((line) => line.includes('"deposit"'))).toHaveLength(12)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...urls: readonly string[]) =>
    chainJson(urls, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])

  /** Reads from a node on another fork, and one that drops some requests once the former has returned a block of its fork. */
  async function readWhileAway(
    requests: number,
    messages: ReaderMessage[],
    times?: typeof shortFaultTimes,
  ): Promise<string[]> {
    let dropped: number | null = null
    const forked: Intercept = async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getBlockByNumber' || !('result' in answer)) return answer
      const block = answer.result as { readonly number: `0x${string}` }
      if (hexToNumber(block.number) < firstOdd) return answer
      // The number of the final block is requested first.
      if (hexToNumber(block.number) === firstOdd + 1) dropped ??= 0
      return { result: { ...block, hash: odd, parentHash: odd } }
    }
    const away: Intercept = (_, pass) => {
      if (dropped === null || dropped >= requests) return pass()
      dropped++
      return Promise.resolve('drop')
    }
    const proxies = [await startProxy(chain.url, away), await startProxy(chain.url, forked)]
    try {
      return await linesOf(jsonOf(...proxies.map(({ url }) => url)), messages, times)
    } finally {
      expect(dropped).toBeGreaterThanOrEqual(Math.min(requests, 10))
      await Promise.all(proxies.map((proxy) => proxy.close()))
    }
  }

  test('waits for the other one while that is unreachable, and does not treat the fork as a reorganisation', async () => {
    const messages: ReaderMessage[] = []
    expect(await readWhileAway(awayForRequests, messages)).toEqual(right)
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('reports the fork once, and that the node is not used', async () => {
    /** A field that makes that headers are not verified by their hash. */
    const unknownField = { l1BlockNumber: '0x1' }
    const withBlocks =
      (change: object): Intercept =>
      async (request, pass) => {
        const answer = await pass()
        if (request.method !== 'eth_getBlockByNumber' || !('result' in answer)) return answer
        const block = answer.result as { readonly number: `0x${string}` }
        return { result: { ...block, ...unknownField, ...(hexToNumber(block.number) < firstOdd ? {} : change) } }
      }
    const proxies = [
      await startProxy(chain.url, withBlocks({})),
      await startProxy(chain.url, withBlocks({ hash: odd, parentHash: odd })),
    ]
    const messages: ReaderMessage[] = []
    const lines = await linesOf(jsonOf(...proxies.map(({ url }) => url)), messages)
    await Promise.all(proxies.map((proxy) => proxy.close()))
    expect(lines).toEqual(right)
    const warnings = messages.filter(({ level }) => level !== 'info').map(({ message }) => message)
    const { host } = new URL(proxies[1]?.url ?? '')
    expect(warnings).toEqual([
      expect.stringContaining(`the node ${host} is on another fork than the blocks that were read`),
    ])
  })

  test('stops where the other one stays unreachable', async () => {
    await expect(readWhileAway(Infinity, [], shortFaultTimes)).rejects.toThrow(ChainDiverged)
  })
})
