import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, optionsOf, shortFaultTimes } from './support/reading.ts'

/** PUSH0, PUSH0, REVERT. */
const reverting = '0x5f5ffd'

describeOnChain('reads of several seconds at once, one of which fails', () => {
  let chain: TestChain
  let protocol: Protocol
  let good: Operator
  let broken: Operator
  /** The first block at which the contract of the other vault does not answer. */
  let brokenFrom: number

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    good = await openVault(chain, protocol, protocol.usdc)
    broken = await openVault(chain, protocol, protocol.usdc)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    await chain.block(good.deposit(alice, usdc(10)), broken.deposit(alice, usdc(20)))
    await chain.mine(25)
    await chain.request({ method: 'anvil_setCode', params: [broken.address, reverting] })
    brokenFrom = (await chain.head()) + 1
    await chain.mine(150)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  test('end with it: those of a vault that is set aside are not repeated without end', async () => {
    const block = await chain.client.getBlock({ blockNumber: BigInt(Math.ceil(brokenFrom / 10) * 10) })
    const balanceOfBroken = `70a08231${'0'.repeat(24)}${broken.address.slice(2).toLowerCase()}`
    const usdcDigits = protocol.usdc.address.slice(2).toLowerCase()
    let failed = 0
    const intercept: Intercept = async (request, pass) => {
      const text = JSON.stringify(request.params).toLowerCase()
      // Only marks read the vault's balance of a token; they read it together with prices.
      const isOfBroken = text.includes(balanceOfBroken) && text.includes(usdcDigits)
      if (
        request.method !== 'eth_call' ||
        !isOfBroken ||
        text.includes(block.hash) ||
        !(await isAfter(text, block.number))
      )
        return pass()
      failed++
      return { error: { code: -32_000, message: 'internal error' } }
    }
    const hashes = new Map<string, bigint>()
    const isAfter = async (text: string, number: bigint): Promise<boolean> => {
      const hash = /"blockhash":"(0x[0-9a-f]{64})"/.exec(text)?.[1] as Address
      if (!hashes.has(hash)) hashes.set(hash, (await chain.client.getBlock({ blockHash: hash })).number)
      return (hashes.get(hash) ?? 0n) > number
    }
    const proxy = await startProxy(chain.url, intercept)
    const places = [good, broken].map(({ address, firstBlock }) => ({ address, firstBlock }))
    const stopping = new AbortController()
    const problems: (string | null)[] = []
    const options = optionsOf(chainJson(proxy.url, protocol, places), { once: false, signal: stopping.signal })
    const feed = chainFeed(
      {
        ...options,
        retry: { ...options.retry, faultTimes: shortFaultTimes },
        onLastingFault: (problem) => void problems.push(problem),
      },
      null,
    )
    const failures: number[] = []
    feed.onEnd(() => {
      failures.push(failed)
      if (failures.length === 30) stopping.abort()
      return Promise.resolve()
    })
    let marks = 0
    for await (const facts of feed.facts) marks += facts.filter(({ kind }) => kind === 'mark').length
    await proxy.close()
    expect(marks).toBeGreaterThan(15)
    expect(failed).toBeGreaterThan(0)
    expect(failures.at(-1)).toBe(failures[0])
    expect(problems.at(-1) ?? null).toBeNull()
  })
})
