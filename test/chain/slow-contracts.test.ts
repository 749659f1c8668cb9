import { type Address, decodeFunctionData, erc4626Abi, type Hex, multicall3Abi } from 'viem'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { contractCall } from '../../src/chain/rpc/calls/contract-call.ts'
import { BlockState, Multicall } from '../../src/chain/rpc/multicall.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type HttpAnswer, type RpcAnswer, startProxy } from './support/proxy.ts'
import { chainJson, type ChainJson, linesOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'

const gatewayTimeout: HttpAnswer = { status: 504, body: 'upstream request timeout' }
const tooSlow: RpcAnswer = { error: { code: -32_000, message: 'execution aborted (timeout = 5s)' } }

describeOnChain('calls that take the nodes too long', () => {
  let chain: TestChain
  let protocol: Protocol
  let vaults: readonly [Operator, Operator]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    vaults = [await openVault(chain, protocol, protocol.usdc), await openVault(chain, protocol, protocol.usdc)]
    await chain.block(...vaults.map((vault) => vault.deposit(alice, usdc(10))))
    await chain.mine(5)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (url: string): ChainJson =>
    chainJson(
      url,
      protocol,
      vaults.map(({ address, firstBlock }) => ({ address, firstBlock })),
    )

  /** Reads from a node that exceeds the time limit for requests that call certain contracts. */
  async function readWith(
    isSlow: (called: readonly string[]) => boolean,
    answer: RpcAnswer | HttpAnswer = tooSlow,
    messages: ReaderMessage[] = [],
    times = shortFaultTimes,
  ): Promise<string[]> {
    const proxy = await startProxy(chain.url, ({ method, params }, pass) => {
      if (method !== 'eth_call') return pass()
      const [{ to, data }] = params as [{ to: Address; data: Hex }]
      return isSlow(to.toLowerCase() === protocol.multicall.toLowerCase() ? targetsOf(data) : [to.toLowerCase()])
        ? Promise.resolve(answer)
        : pass()
    })
    try {
      return await linesOf(jsonOf(proxy.url), messages, times)
    } finally {
      await proxy.close()
    }
  }

  test('together are made in smaller requests', async () => {
    let slow = 0
    const lines = await readWith((called) => {
      const isSlow = called.length > 4
      if (isSlow) slow++
      return isSlow
    })
    expect(slow).toBeGreaterThan(0)
    expect(lines).toEqual(await linesOf(jsonOf(chain.url)))
  })

  test('each are reported with their contract', async () => {
    const [, { address }] = vaults
    await expect(readWith((called) => called.includes(address.toLowerCase()))).rejects.toThrow(
      new RegExp(`it takes too long to answer \\w+\\(\\) of ${address} at block \\d+, and answers other calls there`),
    )
  })

  test('of one contract are waited for where a gateway times out, and reported with the contract', async () => {
    const [, { address }] = vaults
    const messages: ReaderMessage[] = []
    const times = { ...shortFaultTimes, repeatedAfter: 100 }
    let isSlow = true
    const lines = readWith(
      (called) => isSlow && called.includes(address.toLowerCase()),
      gatewayTimeout,
      messages,
      times,
    )
    const { unexplainedReportedAfter, givesUpAfter } = times
    const named = new RegExp(`takes too long to answer \\w+\\(\\) of ${address} at block \\d+`)
    const levels = () => messages.filter(({ facts }) => named.test(String(facts['reason']))).map(({ level }) => level)
    const release = async (): Promise<void> => {
      await vi.waitFor(() => expect(levels()).toContain('warn'), { timeout: 30_000 })
      // Longer than the time limit of errors.
      await wait(2 * (unexplainedReportedAfter + givesUpAfter))
      isSlow = false
    }
    expect(await Promise.all([lines, release()])).toEqual([await linesOf(jsonOf(chain.url)), undefined])
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
  })

  test.each([1, 2])('are made at the next node at once where one hangs, %i in one request', async (number) => {
    let hangs = false
    const hanging = await startProxy(chain.url, ({ method }, pass) => {
      return hangs && method === 'eth_call' ? new Promise(() => undefined) : pass()
    })
    const healthy = await startProxy(chain.url)
    const rpc = connectRpc(
      { chainId: 31_337, rpc: [hanging, healthy].map(({ url }) => ({ url, requestsPerSecond: 10_000 })) },
      {
        report: () => undefined,
        signal: new AbortController().signal,
        limits: { timeoutMilliseconds: 500, maxAnswerBytes: 1_000_000 },
        givesUp: false,
        onLastingFault: () => undefined,
      },
    )
    const block = await rpc.ask((node) => node.block('latest'))
    // The next request goes to the hanging node again.
    await rpc.ask((node) => node.block('latest'))
    hangs = true
    hanging.takeCounts()
    const state = new BlockState(rpc, new Multicall(protocol.multicall), block)
    const calls = vaults.slice(0, number).map(({ address }) => contractCall(erc4626Abi, address, 'totalAssets', []))
    expect(await Promise.all(calls.map((call) => state.read(call)))).toEqual(calls.map(() => usdc(10)))
    expect(hanging.takeCounts()).toEqual({ eth_call: 1 })
    await Promise.all([hanging.close(), healthy.close()])
  })

  test('are not reported for a node that exceeds the time limit for all requests', async () => {
    let calls = 0
    await expect(readWith(() => ++calls > 20)).rejects.toThrow('execution aborted (timeout = 5s)')
  })
})

/** Returns the contracts that a request to Multicall3 calls. */
function targetsOf(data: Hex): string[] {
  const { args } = decodeFunctionData({ abi: multicall3Abi, data })
  const [calls] = args as unknown as [readonly { readonly target: Address }[]]
  return calls.map(({ target }) => target.toLowerCase())
}
