import { type Address, parseAbi, toFunctionSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contractCall } from '../../src/chain/rpc/calls/contract-call.ts'
import { contractExists } from '../../src/chain/rpc/contract-existence.ts'
import { BlockState } from '../../src/chain/rpc/multicall.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, linesOf, optionsOf, type ReaderMessage } from './support/reading.ts'

const outOfGas = { error: { code: -32_000, message: 'out of gas: gas required exceeds allowance (1000000)' } }
const totalSupply = parseAbi(['function totalSupply() view returns (uint256)'])

/** A node that grants too little gas for calls whose data contain this text. */
const lacksGasFor =
  (text: string): Intercept =>
  (request, pass) => {
    const { data = '' } = (request.params[0] ?? {}) as { data?: string }
    return request.method === 'eth_call' && data.includes(text) ? Promise.resolve(outOfGas) : pass()
  }

describeOnChain('a reader of two nodes, of which one grants calls too little gas', () => {
  let chain: TestChain
  let vaults: readonly Operator[]
  let protocol: Protocol
  let right: string[]
  let intercept: Intercept
  let proxy: Awaited<ReturnType<typeof startProxy>>

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    vaults = [await openVault(chain, protocol, protocol.usdc), await openVault(chain, protocol, protocol.usdc)]
    for (let round = 0; round < 20; round++) {
      await chain.block(...vaults.flatMap((vault) => [vault.deposit(alice, usdc(20)), vault.deposit(bob, usdc(30))]))
      await chain.mine(3)
    }
    await chain.mine(70)
    proxy = await startProxy(chain.url, (request, pass) => intercept(request, pass))
    right = await linesOf(jsonOf(chain.url))
    expect(right.filter((line) => line.includes('"deposit"'))).toHaveLength(80)
  }, patienceMilliseconds)
  afterAll(async () => {
    await proxy.close()
    await chain.stop()
  })

  const jsonOf = (...urls: readonly string[]) =>
    chainJson(
      urls,
      protocol,
      vaults.map(({ address, firstBlock }) => ({ address, firstBlock })),
    )

  test.each([
    ['balances of tokens', toFunctionSelector('function balanceOf(address)').slice(2)],
    ['anything', ''],
  ])('for %s reads the same facts as without it, and sets no vault aside', async (_name, text) => {
    intercept = lacksGasFor(text)
    const messages: ReaderMessage[] = []
    const lines = await linesOf(jsonOf(chain.url, proxy.url), messages)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
    expect(lines).toEqual(right)
  })

  test('observes the pause that a node asks for with all its requests', async () => {
    intercept = (_, pass) => pass()
    const { rpc, impatientRpc } = await connectChain(optionsOf(jsonOf(chain.url, proxy.url)), false)
    intercept = () => Promise.resolve({ status: 429, body: 'too many', headers: { 'retry-after': '30' } })
    await expect(rpc.nodes[1]?.chainId()).rejects.toMatchObject({ name: 'RequestFailed' })
    expect(impatientRpc.nodes[1]?.restMilliseconds()).toBeGreaterThan(0)
  })

  test('asks a single node again where a call fails once', async () => {
    const [vault] = vaults as readonly [Operator]
    const call = contractCall(totalSupply, vault.address, 'totalSupply', [])
    intercept = (_, pass) => pass()
    const { rpc, multicall } = await connectChain(optionsOf(jsonOf(proxy.url)), false)
    const block = await rpc.ask((node) => node.block('latest'))
    let failures = 0
    intercept = (request, pass) =>
      request.method === 'eth_call' && failures++ === 0 ? Promise.resolve(outOfGas) : pass()
    expect(await new BlockState(rpc, multicall, block).read(call)).toBe(usdc(1_000))
    intercept = lacksGasFor(call.data.slice(2))
    expect(await new BlockState(rpc, multicall, block).read(call)).toBeNull()
  })

  test('takes a failure and an empty answer of one node for none, in whichever order the nodes are queried', async () => {
    const [vault] = vaults as readonly [Operator]
    const call = contractCall(totalSupply, vault.address, 'totalSupply', [])
    const answers: readonly Intercept[] = [
      lacksGasFor(call.data.slice(2)),
      (request, pass) => (isOfContract(request.method) ? Promise.resolve({ result: '0x' }) : pass()),
    ]
    for (const urls of [
      [chain.url, proxy.url],
      [proxy.url, chain.url],
    ]) {
      intercept = (_, pass) => pass()
      const { rpc, multicall } = await connectChain(optionsOf(jsonOf(...urls)), false)
      const block = await rpc.ask((node) => node.block('latest'))
      for (const answer of answers) {
        intercept = answer
        // Several at once, so that the nodes whose turn it is differ.
        const supplies = Array.from({ length: 5 }, () => new BlockState(rpc, multicall, block).read(call))
        const existences = Array.from({ length: 5 }, () => contractExists(rpc, vault.address, block))
        expect(await Promise.all(supplies)).toEqual(Array<bigint>(5).fill(usdc(1_000)))
        expect(await Promise.all(existences)).toEqual(Array<boolean>(5).fill(true))
      }
    }
  })
})

function isOfContract(method: string): boolean {
  return method === 'eth_call' || method === 'eth_getCode'
}
