import { setTimeout as wait } from 'node:timers/promises'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ChainPosition } from '../../src/chain/chain-position.ts'
import { chainFeed } from '../../src/chain/feed.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type HttpAnswer, type Intercept, type RpcAnswer, type RpcRequest, startProxy } from './support/proxy.ts'
import { randomOf } from './support/random.ts'
import { chainJson, type ChainJson, linesOf, optionsOf, type TestVault } from './support/reading.ts'

/** Number of seeds; CHAIN_SEEDS=20 is the full size. */
const seeds = Array.from({ length: Number(process.env['CHAIN_SEEDS'] ?? 2) }, (_, index) => index + 1)
const nodes = 3

interface Log {
  readonly blockNumber: string
  readonly logIndex: string
  readonly data: string
}

type Answer = RpcAnswer | HttpAnswer | 'drop'
/** Changes the answer of a node; null where the fault does not concern the request. */
type Fault = (request: RpcRequest, answer: RpcAnswer, random: () => number) => Answer | Promise<Answer> | null

const errorOf = (code: number, message: string): RpcAnswer => ({ error: { code, message } })
const ofLogs =
  (change: (logs: readonly Log[], random: () => number) => readonly Log[]): Fault =>
  ({ method }, answer, random) =>
    method === 'eth_getLogs' && 'result' in answer ? { result: change(answer.result as Log[], random) } : null
const ofBlocks =
  (change: (block: object, random: () => number) => object): Fault =>
  ({ method, params }, answer, random) => {
    const isOfNumber = method === 'eth_getBlockByNumber' && String(params[0]).startsWith('0x')
    return isOfNumber && 'result' in answer && answer.result !== null
      ? { result: change(answer.result as object, random) }
      : null
  }
const isOfHash = ({ params }: RpcRequest): boolean => JSON.stringify(params).includes('"blockHash"')
const rangeOf = ({ method, params }: RpcRequest): number => {
  const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string }
  return method === 'eth_getLogs' && fromBlock !== undefined ? Number(toBlock) - Number(fromBlock) + 1 : 0
}
const other = `0x${'9'.repeat(64)}`
/** Changes the end of a text of hexadecimal digits, each time in another way: two wrong answers that agree are believed. */
const otherEnd = (digits: string, random: () => number): string =>
  digits.slice(0, -6) +
  Math.floor(random() * 0x100_0000)
    .toString(16)
    .padStart(6, '0')

/** Faults of a node that has them now and then, or always. */
const faults: Readonly<Record<string, Fault>> = {
  'drops the connection': () => 'drop',
  'answers with HTTP 500': () => ({ status: 500, body: '<html>' }),
  'limits the rate': () => ({ status: 429, body: 'slow down' }),
  'limits the rate by an error': () => errorOf(-32_005, 'rate limit exceeded'),
  'answers with another error': () => errorOf(-32_603, 'Internal error'),
  'answers with no JSON': () => ({ status: 200, body: 'OK' }),
  'breaks off': () => ({ status: 200, body: '{"jsonrpc":"2.0","id":', breaksOff: true }),
  'answers null': () => ({ result: null }),
  'answers another request': (_, answer) => ({
    status: 200,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1_000_000, ...answer }),
  }),
  'lacks blocks by their hashes': (request) => (isOfHash(request) ? errorOf(-32_000, 'header not found') : null),
  'leaves logs out': ofLogs((logs, random) => logs.filter(() => random() < 0.5)),
  'has no logs': ofLogs(() => []),
  'cuts logs off': ofLogs((logs) => logs.slice(0, Math.ceil(logs.length / 2))),
  'tells logs twice': ofLogs((logs) => [...logs, ...logs].reverse()),
  'tells logs twice with other numbers': ofLogs((logs, random) => {
    const first = 1_000 + Math.floor(random() * 1_000_000)
    return [...logs, ...logs.map((log) => ({ ...log, logIndex: `0x${(Number(log.logIndex) + first).toString(16)}` }))]
  }),
  'tells other contents of logs of a block': (request, answer, random) => {
    const changed = ofLogs((logs) => logs.map((log) => ({ ...log, data: otherEnd(log.data, random) })))
    return isOfHash(request) ? changed(request, answer, random) : null
  },
  // The shares of deposits and withdrawals: in a range only the contracts' state shows it.
  'tells other shares': ofLogs((logs, random) =>
    logs.map((log) => (log.data.length === 130 ? { ...log, data: otherEnd(log.data, random) } : log)),
  ),
  'tells logs of a fork': ofLogs((logs) => logs.map((log) => ({ ...log, blockHash: other }))),
  'refuses ranges': (request, _, random) =>
    rangeOf(request) > 1 + random() * 8 ? errorOf(-32_005, 'block range limit exceeded') : null,
  'has blocks of a fork': ofBlocks((block) => ({ ...block, hash: other })),
  'has blocks that do not follow': ofBlocks((block) => ({ ...block, parentHash: other })),
  'states other times': ofBlocks((block, random) => ({
    ...block,
    timestamp: `0x${Math.floor(1_700_000_000 + random() * 5_000).toString(16)}`,
  })),
  'lags behind': ({ method, params }, answer, random) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest' || !('result' in answer)) return null
    const { number } = answer.result as { number: string }
    return {
      result: { ...(answer.result as object), number: `0x${(Number(number) - Math.ceil(random() * 50)).toString(16)}` },
    }
  },
  'names a block that is not there as the newest': ({ method, params }, answer, random) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest' || !('result' in answer)) return null
    const { number } = answer.result as { number: string }
    return {
      result: { ...(answer.result as object), number: `0x${(Number(number) + Math.ceil(random() * 90)).toString(16)}` },
    }
  },
  'answers late': async (_, answer, random) => {
    await wait(random() * 40)
    return answer
  },
  'has no code': ({ method }) => (method === 'eth_call' || method === 'eth_getCode' ? { result: '0x' } : null),
}

describeOnChain('a chain whose nodes have faults', () => {
  let chain: TestChain
  let protocol: Protocol
  let vaults: TestVault[]
  let right: string[]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice, bob, recipient, heir] = chain.accounts as [Address, Address, Address, Address, Address, Address]
    const plain = await openVault(chain, protocol, protocol.usdc)
    const paying = await openVault(chain, protocol, protocol.weth, artifacts.feeVault, recipient)
    vaults = [plain, paying].map(({ address, firstBlock }) => ({ address, firstBlock }))
    const position = protocol.mintData(plain.address, -600, 600, [
      [protocol.usdc, usdc(300)],
      [protocol.weth, weth(1)],
    ])
    await chain.block(plain.deposit(alice, usdc(1_000)), protocol.mint(plain.address, protocol.weth, weth(1)))
    await chain.block(plain.run([protocol.manager, position]))
    for (const pause of [25, 15, 45, 1, 2, 20]) {
      await chain.block(plain.deposit(alice, usdc(20)), plain.deposit(bob, usdc(30)), plain.withdraw(alice, usdc(3)))
      // Blocks of one second.
      await chain.send(paying.deposit(bob, weth(1)))
      await chain.mine(1, 0)
      await chain.send(paying.callOf(paying.owner, 'accrue', weth(0.01)))
      await chain.mine(1, 0)
      await chain.block(plain.pause(), protocol.swap(protocol.usdc, protocol.weth, usdc(900)))
      await chain.block(plain.unpause())
      await chain.mine(pause)
    }
    await chain.block(paying.callOf(paying.owner, 'transferOwnership', heir), plain.deposit(bob, usdc(7)))
    await chain.mine(12)
    right = await linesOf(jsonOf([chain.url]))
    expect(right.length).toBeGreaterThan(80)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (urls: readonly string[]) => chainJson(urls, protocol, vaults)

  /** Runs work with nodes that have some faults, each at a rate between 0 and 1. */
  async function withNodes<Value>(
    of: (node: number) => { fault: Fault; rate: number }[],
    random: () => number,
    work: (json: ChainJson) => Promise<Value>,
  ): Promise<Value> {
    const proxies = await Promise.all(
      Array.from({ length: nodes }, (_, node) => {
        const own = of(node)
        const intercept: Intercept = async (request, pass) => {
          const answer = await pass()
          for (const { fault, rate } of own) {
            const changed = random() < rate ? await fault(request, answer, random) : null
            if (changed !== null) return changed
          }
          return answer
        }
        return startProxy(chain.url, intercept)
      }),
    )
    try {
      return await work(jsonOf(proxies.map(({ url }) => url)))
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    }
  }

  /** Reads the chain with restarts, each after some seconds with facts. */
  async function linesWithRestarts(json: ChainJson, random: () => number): Promise<string[]> {
    let lines: string[] = []
    let position: ChainPosition | null = null
    for (let isOver = false; !isOver;) {
      const left = 1 + Math.floor(random() * 20)
      const { facts, positionAfter } = chainFeed(optionsOf(json), position)
      isOver = true
      let seconds = 0
      for await (const some of facts) {
        lines.push(...some.map((fact) => JSON.stringify(fact)))
        if (++seconds < left) continue
        isOver = false
        break
      }
      if (lines.length > 0 && seconds > 0) position = positionAfter({ number: lines.length })
      // The last second is read again.
      if (!isOver) lines = lines.slice(0, position?.line)
    }
    return lines
  }

  test.each(Object.entries(faults))('of which one %s gives the same facts', async (_name, fault) => {
    const of = (node: number) => (node === 0 ? [{ fault, rate: 1 }] : [])
    expect(await withNodes(of, randomOf(1), (json) => linesOf(json))).toEqual(right)
  })

  test.each(Object.entries(faults))('that each now and then %s gives the same facts', async (_name, fault) => {
    expect(
      await withNodes(
        () => [{ fault, rate: 0.1 }],
        randomOf(2),
        (json) => linesOf(json),
      ),
    ).toEqual(right)
  })

  test.each(seeds)('which they have at random gives the same facts after restarts, with seed %i', async (seed) => {
    const random = randomOf(seed)
    const all = Object.values(faults)
    const pick = (): { fault: Fault; rate: number } => ({
      fault: all[Math.floor(random() * all.length)] as Fault,
      rate: random() * 0.15,
    })
    const own = Array.from({ length: nodes }, () => [pick(), pick(), pick()])
    const lines = await withNodes(
      (node) => own[node] ?? [],
      random,
      (json) => linesWithRestarts(json, random),
    )
    expect(lines).toEqual(right)
  })
})
