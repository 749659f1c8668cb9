import { setTimeout as wait } from 'node:timers/promises'
import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Node } from '../../src/chain/rpc/node.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { chainJson, linesOf } from './support/reading.ts'

const nobody = `0x${'0'.repeat(40)}` as const
const block = { number: 1, hash: `0x${'ab'.repeat(32)}` } as const
/** Longer than answers may take before a node is slow. */
const slowMilliseconds = 550
const message = 'A node answers slowly: the others are used first'

afterEach(() => vi.restoreAllMocks())

/** Connects to two nodes without a chain, which answer with these delays. */
async function twoNodes(delays: readonly [number, number]) {
  const current = [...delays]
  const proxies = await Promise.all(
    delays.map((_, index) =>
      startProxy('http://127.0.0.1:9', async ({ method }) => {
        await wait(current[index])
        return { result: method === 'eth_chainId' ? '0x1' : `0x0${index}` }
      }),
    ),
  )
  const report = vi.fn()
  const rpc = connectRpc(
    { chainId: 1, rpc: proxies.map(({ url }) => ({ url, requestsPerSecond: 10_000 })) },
    { report, signal: new AbortController().signal, givesUp: true, onLastingFault: () => undefined },
  )
  const call = (node: Node): Promise<string> => node.call(nobody, '0x', block.hash)
  const [first, second] = proxies as [(typeof proxies)[0], (typeof proxies)[0]]
  return {
    ...{ rpc, report, first, second, call },
    /** Sends requests one after the other; returns the answers that each of the nodes gave. */
    async answersOf(requests: number): Promise<Record<string, number>> {
      const answers: Record<string, number> = { '0x00': 0, '0x01': 0 }
      for (let request = 0; request < requests; request++) {
        const answer = await rpc.ask(call)
        answers[answer] = (answers[answer] ?? 0) + 1
      }
      return answers
    },
    setDelay: (index: number, milliseconds: number) => void (current[index] = milliseconds),
    close: () => Promise.all(proxies.map(({ close }) => close())),
  }
}

const now = performance.now.bind(performance)

function pass(minutes: number): void {
  vi.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000)
}

test('a node that answers slowly is used after the others, and tried again once a minute', async () => {
  const { answersOf, setDelay, first, report, close } = await twoNodes([slowMilliseconds, 0])
  await answersOf(2)
  expect(await answersOf(40)).toEqual({ '0x00': 0, '0x01': 40 })
  const reported = { node: new URL(first.url).host, milliseconds: expect.any(Number) as number }
  expect(report.mock.calls).toEqual([['info', message, reported]])
  pass(1)
  expect(await answersOf(40)).toEqual({ '0x00': 1, '0x01': 39 })
  setDelay(0, 0)
  pass(2)
  expect(await answersOf(41)).toEqual({ '0x00': 21, '0x01': 20 })
  await close()
})

test('a slow node is used where the quick one fails', async () => {
  const { rpc, call, answersOf, second, close } = await twoNodes([slowMilliseconds, 0])
  await answersOf(2)
  await second.close()
  expect(await rpc.ask(call)).toBe('0x00')
  await close()
})

test('nodes that are all slow are used in turn', async () => {
  const { rpc, call, report, close } = await twoNodes([slowMilliseconds, slowMilliseconds])
  const answers = await Promise.all(Array.from({ length: 4 }, () => rpc.ask(call)))
  expect(answers.sort()).toEqual(['0x00', '0x00', '0x01', '0x01'])
  expect(report).not.toHaveBeenCalled()
  await close()
})

test('a slow node has its turn where an answer is confirmed, for the final block, and after a contradiction', async () => {
  const { rpc, call, answersOf, close } = await twoNodes([slowMilliseconds, 0])
  await answersOf(2)
  const askInTurn = rpc.askInTurnAt(block)
  expect(new Set([await askInTurn(call), await askInTurn(call)])).toEqual(new Set(['0x00', '0x01']))
  expect(new Set([await rpc.askAny(call), await rpc.askAny(call)])).toEqual(new Set(['0x00', '0x01']))
  rpc.useAllNodes()
  expect(await answersOf(2)).toEqual({ '0x00': 1, '0x01': 1 })
  await close()
})

test('the chain ID of a slow node is not waited for, and verified before its next use', async () => {
  const { rpc, call, answersOf, first, second, close } = await twoNodes([slowMilliseconds, 0])
  await answersOf(2)
  first.takeCounts()
  second.takeCounts()
  await rpc.checkChain()
  expect([first.takeCounts(), second.takeCounts()]).toEqual([{}, { eth_chainId: 1 }])
  await second.close()
  expect(await rpc.ask(call)).toBe('0x00')
  expect(first.takeCounts()).toEqual({ eth_chainId: 1, eth_call: 1 })
  await close()
})

describeOnChain('a reader of a slow and a quick node', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let right: string[]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    for (let round = 0; round < 5; round++) {
      await chain.block(vault.deposit(alice, usdc(20)))
      await chain.mine(round === 2 ? 60 : 3)
    }
    right = await linesOf(jsonOf(chain.url))
    expect(right.filter((line) => line.includes('"deposit"'))).toHaveLength(5)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...urls: readonly string[]) =>
    chainJson(urls, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])

  test('sends few requests to the slow one, and reads the same facts', async () => {
    const quick = await startProxy(chain.url)
    const slow = await startProxy(chain.url, async (_, pass) => {
      await wait(slowMilliseconds)
      return pass()
    })
    expect(await linesOf(jsonOf(slow.url, quick.url))).toEqual(right)
    const [bySlow, byQuick] = [slow, quick].map((node) =>
      Object.values(node.takeCounts()).reduce((sum, count) => sum + count, 0),
    ) as [number, number]
    expect(bySlow).toBeLessThan(byQuick / 5)
    await Promise.all([slow.close(), quick.close()])
  })

  test('reads ranges again at the slow one where the quick one leaves logs out, and not block by block', async () => {
    const ranges = new Set<string>()
    const quick = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      const isOfRange = request.method === 'eth_getLogs' && 'fromBlock' in (request.params[0] as object)
      return isOfRange && 'result' in answer ? { result: [] } : answer
    })
    let isSlow = true
    const slow = await startProxy(chain.url, async (request, pass) => {
      if (request.method === 'eth_getLogs') isSlow = false
      const { fromBlock } = (request.params[0] ?? {}) as { fromBlock?: string }
      if (fromBlock !== undefined) ranges.add(fromBlock)
      if (isSlow) await wait(slowMilliseconds)
      return pass()
    })
    expect(await linesOf(jsonOf(slow.url, quick.url))).toEqual(right)
    expect(ranges.size).toBeGreaterThan(0)
    await Promise.all([slow.close(), quick.close()])
  })
})
