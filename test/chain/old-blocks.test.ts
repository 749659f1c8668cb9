import { type Address, type Hex, hexToNumber } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, type RpcAnswer, startProxy } from './support/proxy.ts'
import { chainJson, type ChainJson, linesOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'

const error = (code: number, message: string): RpcAnswer => ({ error: { code, message } })

describeOnChain('a reader of old blocks', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let right: string[]
  /** Multicall3, deployed after the vault. */
  let young: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    const [deployer, , alice] = chain.accounts as [Address, Address, Address]
    const mint = protocol.mintData(vault.address, 190_000, 210_000, [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, 10n ** 18n],
    ])
    const live = async (): Promise<void> => {
      await chain.block(vault.deposit(alice, usdc(5_000)))
      await chain.block({ from: deployer, to: protocol.manager, data: mint })
      await chain.mine(30)
      await chain.block(vault.withdraw(alice, usdc(70)))
    }
    await live()
    // Burned in the block in which it is emptied: a call for it at the block's end is reverted.
    const { liquidity } = await positionOf(3n)
    await chain.block(vault.run(...protocol.burnCalls(3n, liquidity, vault.address)))
    young = await chain.deploy(deployer, artifacts.creationOf(artifacts.multicall))
    await chain.mine(70)
    await live()
    await chain.mine(5)
    right = await linesOf(jsonOf(chain.url))
    expect(right.length).toBeGreaterThan(15)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (url: string, more: ChainJson = {}): ChainJson =>
    chainJson(url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], more)

  async function positionOf(id: bigint): Promise<{ liquidity: bigint }> {
    const { manager: address } = protocol
    const call = { address, abi: artifacts.manager.abi, functionName: 'positions', args: [id] }
    const fields = (await chain.client.readContract(call)) as readonly unknown[]
    return { liquidity: fields[7] as bigint }
  }

  async function withProxy<Result>(intercept: Intercept, work: (url: string) => Promise<Result>): Promise<Result> {
    const proxy = await startProxy(chain.url, intercept)
    try {
      return await work(proxy.url)
    } finally {
      await proxy.close()
    }
  }

  test('reads blocks before Multicall3 by single calls, with the same facts', async () => {
    const called = new Map<string, number>()
    const count: Intercept = (request, pass) => {
      const { to } = (request.params[0] ?? {}) as { to?: string }
      const name =
        request.method === 'eth_call' && to?.toLowerCase() === young.toLowerCase() ? 'multicall' : request.method
      called.set(name, (called.get(name) ?? 0) + 1)
      return pass()
    }
    const messages: ReaderMessage[] = []
    expect(await withProxy(count, (url) => linesOf(jsonOf(url, { multicall: young }), messages))).toEqual(right)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
    expect(called.get('eth_call')).toBeGreaterThan(20)
    expect(called.get('multicall')).toBeGreaterThan(3)
  })

  test.each([
    [3, 'execution reverted'],
    [-32_000, 'execution reverted: nothing there'],
    [-32_015, 'VM execution error.'],
    [-32_000, 'execution reverted: the offer has timed out'],
    [-32_000, 'gas uint64 overflow'],
  ])('takes a single call that is reverted as such, with the error %i, %s', async (code, message) => {
    let reverted = 0
    const intercept: Intercept = async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_call' || !('error' in answer)) return answer
      reverted++
      return error(code, message)
    }
    expect(await withProxy(intercept, (url) => linesOf(jsonOf(url, { multicall: young })))).toEqual(right)
    expect(reverted).toBeGreaterThan(0)
  })

  test('rejects the responses of a node that lacks Multicall3 only at times', async () => {
    let denied = 0
    const intercept: Intercept = (request, pass) => {
      const { to } = (request.params[0] ?? {}) as { to?: string }
      if (request.method !== 'eth_call' || to?.toLowerCase() !== protocol.multicall.toLowerCase() || denied++ % 3 !== 0)
        return pass()
      return Promise.resolve({ result: '0x' })
    }
    expect(await withProxy(intercept, (url) => linesOf(jsonOf(url)))).toEqual(right)
    expect(denied).toBeGreaterThan(5)
  })

  test('ends where the node has no state of old blocks, with an error that names an archive node', async () => {
    const old = new Set<unknown>()
    const intercept: Intercept = async ({ method, params }, pass) => {
      const answer = await pass()
      if (method === 'eth_getBlockByNumber' && 'result' in answer) {
        const { number, hash } = answer.result as { number: Hex; hash: Hex }
        if (hexToNumber(number) < vault.firstBlock + 20) old.add(hash)
      }
      const { blockHash } = (params[1] ?? {}) as { blockHash?: Hex }
      return old.has(blockHash) ? error(-32_000, 'missing trie node 0123 (path 04) <nil>') : answer
    }
    const messages: ReaderMessage[] = []
    const read = withProxy(intercept, (url) => linesOf(jsonOf(url), messages, shortFaultTimes))
    await expect(read).rejects.toThrow(/lacks the state of the blocks to read: .*Name an archive node/)
    expect(messages.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  test('ends where the node accepts no calls by block hash, with the reason', async () => {
    const intercept: Intercept = ({ params }, pass) =>
      typeof params[1] === 'object'
        ? Promise.resolve(error(-32_602, 'invalid argument 1: hex string without 0x prefix'))
        : pass()
    const read = withProxy(intercept, (url) => linesOf(jsonOf(url), [], shortFaultTimes))
    await expect(read).rejects.toThrow(/takes no requests by a block's hash \(EIP-1898\)/)
  })
})
