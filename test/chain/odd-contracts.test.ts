import { type Address, erc20Abi, erc721Abi, type Hex, numberToHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ContractMismatch } from '../../src/chain/errors.ts'
import { contractCall } from '../../src/chain/rpc/calls/contract-call.ts'
import { BlockState } from '../../src/chain/rpc/multicall.ts'
import { connectChain } from '../../src/chain/setup.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, type ChainJson, linesOf, optionsOf, type ReaderMessage } from './support/reading.ts'

/** INVALID uses up all gas of a call. */
const burning = '0xfe'
/** Returns code that responds to any call with these words. */
const saying = (...words: bigint[]): Hex => {
  const stores = words.map((word, at) => `7f${numberToHex(word, { size: 32 }).slice(2)}61${hex4(at * 32)}52`)
  return `0x${stores.join('')}61${hex4(words.length * 32)}5ff3`
}
/** Returns code that responds with 1 where a call has more gas than this, and else reverts. */
const needing = (gas: bigint): Hex =>
  `0x5a63${numberToHex(gas, { size: 4 }).slice(2)}10600f5760006000fd5b600160005260206000f3`
const hex4 = (value: number): string => value.toString(16).padStart(4, '0')

describeOnChain('contracts that turn odd', () => {
  let chain: TestChain
  let protocol: Protocol
  let alice: Address
  let good: Operator
  let odd: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    good = await openVault(chain, protocol, protocol.usdc)
    odd = await openVault(chain, protocol, protocol.weth)
    await chain.block(good.deposit(alice, usdc(100)), odd.deposit(alice, weth(1)))
    await chain.mine(8)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (vaults: readonly Operator[], more: ChainJson = {}): ChainJson =>
    chainJson(
      chain.url,
      protocol,
      vaults.map(({ address, firstBlock }) => ({ address, firstBlock })),
      more,
    )

  /** Replaces the code of the odd vault for some blocks and reads both vaults; the facts of the good one must be unchanged. */
  async function readWith(code: Hex): Promise<string[]> {
    const own = await chain.request({ method: 'eth_getCode', params: [odd.address, 'latest'] })
    await chain.request({ method: 'anvil_setCode', params: [odd.address, code] })
    await chain.block(good.deposit(alice, usdc(5)))
    await chain.mine(12)
    await chain.request({ method: 'anvil_setCode', params: [odd.address, own] })
    await chain.mine(4)
    const messages: ReaderMessage[] = []
    const both = await linesOf(jsonOf([good, odd]), messages).catch((error: unknown) => [String(error)])
    const alone = (await linesOf(jsonOf([good]))).map((line) => JSON.parse(line) as FactInput)
    const ofGood = both
      .map((line) => JSON.parse(line) as FactInput)
      .filter((fact) => 'vault' in fact && fact.vault === good.address)
    expect(ofGood).toEqual(alone.filter((fact) => 'vault' in fact))
    return messages.filter(({ level }) => level === 'error').map(({ message }) => message)
  }

  /** Reads contracts of which the middle one uses up all gas, by calls that must succeed and by calls that may fail. */
  async function readAround(code: Hex) {
    const addresses = ['11', '22', '33'].map((byte): Address => `0x${byte.repeat(20)}`)
    for (const [index, one] of [code, burning, code].entries()) {
      await chain.request({ method: 'anvil_setCode', params: [addresses[index], one] })
    }
    const { rpc, multicall } = await connectChain(optionsOf(jsonOf([good])), false)
    const state = new BlockState(rpc, multicall, await rpc.ask((node) => node.block('latest')))
    const calls = addresses.map((address) => contractCall(erc20Abi, address, 'totalSupply', []))
    return Promise.all([
      Promise.all(calls.map((call) => state.read(call))),
      Promise.allSettled(calls.map((call) => state.readRequired(call))),
    ])
  }

  /** Returns a gas limit above the part that a call which uses up all gas leaves to later calls. */
  async function scarceGas(): Promise<bigint> {
    const block = await chain.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    return BigInt((block as { gasLimit: Hex }).gasLimit) / 32n
  }

  test('fail alone where they use up the gas of calls in the same request', async () => {
    const [optional, required] = await readAround(needing(await scarceGas()))
    expect(required).toEqual([
      { status: 'fulfilled', value: 1n },
      { status: 'rejected', reason: expect.any(ContractMismatch) as ContractMismatch },
      { status: 'fulfilled', value: 1n },
    ])
    expect(optional).toEqual([1n, null, 1n])
  })

  test('are found to lack a function without a separate call of each', async () => {
    const proxy = await startProxy(chain.url)
    const { rpc, multicall } = await connectChain(
      optionsOf(jsonOf([good], { rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] })),
      false,
    )
    const state = new BlockState(rpc, multicall, await rpc.ask((node) => node.block('latest')))
    proxy.takeCounts()
    const calls = [1n, 2n, 3n].map((id) => contractCall(erc721Abi, good.address, 'ownerOf', [id]))
    expect(await Promise.all(calls.map((call) => state.read(call)))).toEqual([null, null, null])
    expect(proxy.takeCounts()).toEqual({ eth_call: 1 })
    await proxy.close()
  })

  test('are called separately on a node that lacks the precompiled contract of known gas', async () => {
    const [there, nowhere] = [8, 0xdead].map((address) =>
      [address, 0, 96].map((value) => numberToHex(value, { size: 32 }).slice(2)).join(''),
    ) as [string, string]
    const lacking: Intercept = (request, pass) =>
      pass({ ...request, params: JSON.parse(JSON.stringify(request.params).replaceAll(there, nowhere)) as unknown[] })
    const [proxy, whole] = [await startProxy(chain.url, lacking), await startProxy(chain.url)]
    const jsonAt = (url: string): ChainJson => jsonOf([good], { rpc: [{ url, requestsPerSecond: 10_000 }] })
    expect(await linesOf(jsonAt(proxy.url))).toEqual(await linesOf(jsonAt(whole.url)))
    const [more = 0, calls = 0] = [proxy, whole].map((one) => one.takeCounts()['eth_call'])
    expect(more).toBeGreaterThan(calls)
    for (const failing of [1, 3, 8]) {
      const { rpc, multicall } = await connectChain(optionsOf(jsonAt(proxy.url)), false)
      const state = new BlockState(rpc, multicall, await rpc.ask((node) => node.block('latest')))
      proxy.takeCounts()
      const fails = Array.from({ length: failing }, (_, id) =>
        contractCall(erc721Abi, good.address, 'ownerOf', [BigInt(id)]),
      )
      const works = ['totalSupply', 'symbol', 'name'].map((name) =>
        contractCall(erc20Abi, good.address, name as 'totalSupply', []),
      )
      const [failed, worked] = await Promise.all(
        [fails, works].map((some) => Promise.all(some.map((call) => state.read<unknown>(call)))),
      )
      expect(failed).toEqual(fails.map(() => null))
      expect(worked).not.toContain(null)
      expect(proxy.takeCounts()['eth_call']).toBeLessThanOrEqual(1 + 3 * failing)
    }
    await Promise.all([proxy.close(), whole.close()])
  })

  test.each<[string, Hex]>([
    ['uses up all gas', burning],
    ['answers with a huge number for everything', saying(2n ** 255n)],
    ['answers with one word too many bits for everything', saying(2n ** 53n - 1n)],
    ['answers nothing', '0x00'],
  ])('set a vault aside alone where it %s', async (_name, code) => {
    expect(await readWith(code)).toEqual([expect.stringMatching(/^A vault is set aside: 0x\w+ \S/)])
  })
})
