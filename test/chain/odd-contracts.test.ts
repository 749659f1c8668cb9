import { type Address, erc20Abi, type Hex, numberToHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ContractMismatch } from '../../src/chain/errors.ts'
import { BlockState, contractCall } from '../../src/chain/rpc/multicall.ts'
import { connectChain } from '../../src/chain/setup.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, type ChainJson, linesOf, optionsOf, type Said } from './support/reading.ts'

/** INVALID uses up all gas of a call. */
const burning = '0xfe'
/** Returns a word, whatever it is asked. */
const saying = (...words: bigint[]): Hex => {
  const stores = words.map((word, at) => `7f${numberToHex(word, { size: 32 }).slice(2)}61${hex4(at * 32)}52`)
  return `0x${stores.join('')}61${hex4(words.length * 32)}5ff3`
}
/** Returns 1 where it is given more gas than this, and else reverts. */
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

  /** Reads both vaults after the odd one has had other code for some blocks; the good one must have its facts all the same. */
  async function readWith(code: Hex): Promise<string[]> {
    const own = await chain.request({ method: 'eth_getCode', params: [odd.address, 'latest'] })
    await chain.request({ method: 'anvil_setCode', params: [odd.address, code] })
    await chain.block(good.deposit(alice, usdc(5)))
    await chain.mine(12)
    await chain.request({ method: 'anvil_setCode', params: [odd.address, own] })
    await chain.mine(4)
    const said: Said[] = []
    const both = await linesOf(jsonOf([good, odd]), said).catch((error: unknown) => [String(error)])
    const alone = (await linesOf(jsonOf([good]))).map((line) => JSON.parse(line) as FactInput)
    const ofGood = both
      .map((line) => JSON.parse(line) as FactInput)
      .filter((fact) => 'vault' in fact && fact.vault === good.address)
    expect(ofGood).toEqual(alone.filter((fact) => 'vault' in fact))
    return said.filter(({ level }) => level === 'error').map(({ message }) => message)
  }

  test('fail alone where they use up the gas of calls beside them', async () => {
    const { rpc, multicall } = await connectChain(optionsOf(jsonOf([good])), false)
    const block = await chain.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    const gas = BigInt((block as { gasLimit: Hex }).gasLimit) / 32n
    const addresses = ['11', '22', '33'].map((byte): Address => `0x${byte.repeat(20)}`)
    const codes = [needing(gas), burning, needing(gas)]
    for (const [index, code] of codes.entries()) {
      await chain.request({ method: 'anvil_setCode', params: [addresses[index], code] })
    }
    const header = await rpc.ask((node) => node.block('latest'))
    const state = new BlockState(rpc, multicall, header)
    const supplies = addresses.map((address) => state.readRequired(contractCall(erc20Abi, address, 'totalSupply', [])))
    expect(await Promise.allSettled(supplies)).toEqual([
      { status: 'fulfilled', value: 1n },
      { status: 'rejected', reason: expect.any(ContractMismatch) as ContractMismatch },
      { status: 'fulfilled', value: 1n },
    ])
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
