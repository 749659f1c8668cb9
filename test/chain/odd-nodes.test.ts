import { type Address, hexToNumber, padHex, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NodeFault } from '../../src/chain/errors.ts'
import { chainFeed } from '../../src/chain/feed.ts'
import { readMatchingLogs } from '../../src/chain/rpc/bloom.ts'
import { connectNode, type LogFilter } from '../../src/chain/rpc/node.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, type RpcAnswer, type RpcRequest, startProxy } from './support/proxy.ts'
import { chainJson, linesOf, optionsOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'

const tooMany = 'query returned more than 10000 results'
const tooManyRequested = 'Too many logs requested. Max logs per response is 20000.'
const deposit = toEventSelector('Deposit(address,address,uint256,uint256)')

interface LogRequest {
  readonly blockHash?: string
  readonly fromBlock?: `0x${string}`
  readonly toBlock?: `0x${string}`
}

interface Log {
  readonly topics: readonly string[]
  readonly blockNumber: `0x${string}`
  readonly logIndex: string
}

describeOnChain('a reader of nodes with odd ways', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  /** A vault with shares that its deposits do not explain: some are of an account that is not in the file. */
  let paying: Operator
  let right: string[]
  /** A proxy whose responses a test changes. */
  let intercept: Intercept
  let proxy: Awaited<ReturnType<typeof startProxy>>

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice, bob, , nobody] = chain.accounts as [Address, Address, Address, Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    paying = await openVault(chain, protocol, protocol.usdc, artifacts.feeVault, nobody)
    await chain.block(paying.deposit(bob, usdc(1_000)))
    for (const pause of [40, 40, 70, 1, 1]) {
      await chain.block(vault.deposit(alice, usdc(20)), vault.deposit(bob, usdc(30)), vault.withdraw(alice, usdc(3)))
      await chain.block(paying.callOf(paying.owner, 'accrue', usdc(2)))
      await chain.mine(pause)
    }
    await chain.mine(4)
    proxy = await startProxy(chain.url, (request, pass) => intercept(request, pass))
    right = await linesOf(jsonOf(chain.url))
    expect(right.length).toBeGreaterThan(30)
  }, patienceMilliseconds)
  afterAll(async () => {
    await proxy.close()
    await chain.stop()
  })

  const jsonOf = (url: string, ...more: Operator[]) =>
    chainJson(
      url,
      protocol,
      [vault, paying, ...more].map(({ address, firstBlock }) => ({ address, firstBlock })),
    )

  /** Reads from a node whose lists of logs are changed. */
  function readWith(
    change: (logs: readonly Log[], request: LogRequest) => readonly Log[],
    messages: ReaderMessage[] = [],
    ...more: Operator[]
  ): Promise<string[]> {
    intercept = async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getLogs' || !('result' in answer)) return answer
      return { result: change(answer.result as Log[], request.params[0] as LogRequest) }
    }
    return linesOf(jsonOf(proxy.url, ...more), messages)
  }

  test('that return logs twice, and in another order, reads each once', async () => {
    expect(await readWith((logs) => [...logs, ...logs].reverse())).toEqual(right)
  })

  test('that omit deposits from a range repeats the request', async () => {
    let leftOut = 0
    const lines = await readWith((logs, { blockHash }) => {
      if (blockHash !== undefined || leftOut > 0) return logs
      const kept = logs.filter(({ topics }) => topics[0] !== deposit)
      leftOut += logs.length - kept.length
      return kept
    })
    expect(leftOut).toBeGreaterThan(0)
    expect(lines).toEqual(right)
  })

  test('that omit one of several logs of a block reads all of the block', async () => {
    const cut = new Set<string>()
    const lines = await readWith((logs, { blockHash }) => {
      if (blockHash === undefined) return logs
      // Then all logs of the block are requested, and returned twice.
      if (cut.has(blockHash)) return [...logs, ...logs]
      const rest = withoutOneDeposit(logs)
      if (rest.length < logs.length) cut.add(blockHash)
      return rest
    })
    expect(cut.size).toBeGreaterThan(1)
    expect(lines).toEqual(right)
  })

  test('that limit the logs of a block reads them from its receipts', async () => {
    let refused = 0
    intercept = async (request, pass) => {
      const [{ blockHash, ...filter } = {}] = request.params as (LogRequest | undefined)[]
      if (request.method !== 'eth_getLogs' || blockHash === undefined) return pass()
      if (Object.keys(filter).length === 0) {
        refused++
        return { error: { code: -32_005, message: tooMany } }
      }
      const answer = await pass()
      return 'result' in answer ? { result: withoutOneDeposit(answer.result as Log[]) } : answer
    }
    expect(await linesOf(jsonOf(proxy.url), [], shortFaultTimes)).toEqual(right)
    expect(refused).toBeGreaterThan(1)
  })

  test.each([
    ['of blocks', 0, 4, tooMany],
    ['of blocks and ranges', Infinity, 6, tooMany],
    ['of blocks and ranges, in the words of Nethermind', Infinity, 6, tooManyRequested],
  ])(
    'that refuse all lists of logs %s reads the blocks from their receipts',
    async (_name, maxRefused, least, message) => {
      const receipts = new Set<unknown>()
      intercept = async (request, pass) => {
        if (request.method === 'eth_getBlockReceipts') receipts.add(request.params[0])
        const answer = await pass()
        const isRefused = request.method === 'eth_getLogs' && widthOf(request) <= maxRefused
        if (!isRefused || !('result' in answer) || (answer.result as Log[]).length === 0) return answer
        return { error: { code: -32_005, message } }
      }
      const messages: ReaderMessage[] = []
      expect(await linesOf(jsonOf(proxy.url), messages, shortFaultTimes)).toEqual(right)
      expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
      expect(receipts.size).toBeGreaterThanOrEqual(least)
    },
  )

  test('that refuse a list of logs takes those that match the filter from their receipts', async () => {
    intercept = (request, pass) =>
      request.method === 'eth_getLogs' ? Promise.resolve({ error: { code: -32_005, message: tooMany } }) : pass()
    const [refusing, granting] = [proxy.url, chain.url].map((url) => connectNode({ url, requestsPerSecond: 10_000 }))
    if (refusing === undefined || granting === undefined) throw new Error('no nodes')
    const block = await granting.block(vault.firstBlock + 3)
    const alice = padHex(chain.accounts[2] as Address, { size: 32 })
    const filters: readonly LogFilter[] = [
      {},
      { address: vault.address },
      { address: [vault.address, protocol.usdc.address], topics: [[deposit]] },
      { topics: [deposit, null, alice] },
      { topics: [null, alice] },
      { address: protocol.manager },
    ]
    const numbers: number[] = []
    for (const filter of filters) {
      const logs = await readMatchingLogs(granting, filter, block)
      expect(await readMatchingLogs(refusing, filter, block)).toEqual(logs)
      numbers.push(logs.length)
    }
    expect(numbers.slice(1).some((number) => number > 0 && number < (numbers[0] ?? 0))).toBe(true)
    const other = { number: block.number, hash: block.parentHash }
    await expect(readMatchingLogs(refusing, {}, other)).rejects.toThrow(NodeFault)
  })

  test('whose receipts lack a log of a block with too many of them repeats the request', async () => {
    const requested = new Set<unknown>()
    intercept = async (request, pass) => {
      const answer = await pass()
      if (!('result' in answer)) return answer
      if (request.method === 'eth_getBlockReceipts' && !requested.has(request.params[0])) {
        requested.add(request.params[0])
        return { result: (answer.result as unknown[]).slice(1) }
      }
      if (request.method !== 'eth_getLogs' || (answer.result as Log[]).length === 0) return answer
      return { error: { code: -32_005, message: tooMany } }
    }
    expect(await linesOf(jsonOf(proxy.url), [], shortFaultTimes)).toEqual(right)
    expect(requested.size).toBeGreaterThan(5)
  })

  test('that have logs which the bloom filter of their block lacks continues', async () => {
    let added = 0
    const lines = await readWith((logs, { blockHash, ...filter }) => {
      if (blockHash === undefined) return logs
      // All logs of a block are requested where some are missing.
      if (Object.keys(filter).length > 0) return withoutOneDeposit(logs)
      added++
      const [first] = logs
      return first === undefined ? logs : [...logs, { ...first, topics: [`0x${'5'.repeat(64)}`], logIndex: '0x3e7' }]
    })
    expect(added).toBeGreaterThan(0)
    expect(lines).toEqual(right)
  })

  test.each([
    ['and suggests a range', 'Try with this block range [0x1, 0x10].'],
    ['and no more', ''],
  ])('that answer with 10,000 logs at most %s narrows the range at once, and keeps to it', async (_name, advice) => {
    let refused = 0
    intercept = (request, pass) => {
      if (widthOf(request) <= 20) return pass()
      refused++
      const message = `${tooMany}. ${advice}`
      return Promise.resolve({ error: { code: -32_005, message } })
    }
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf(proxy.url), messages)).toEqual(right)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
    // Each of the few filters may be refused down to the width that is granted.
    expect(refused).toBeLessThan(40)
  })

  test('that request a pause observes it', async () => {
    const times: number[] = []
    intercept = (_, pass) => {
      times.push(performance.now())
      if (times.length > 1) return pass()
      return Promise.resolve({ status: 429, body: 'slow down', headers: { 'retry-after': '1' } })
    }
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf(proxy.url), messages)).toEqual(right)
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(900)
  })

  test('behind one URL, of which one is of another chain from some request on, stops with the chain id', async () => {
    const other = await startChain({ chainId: 99, timestamp: 1_700_000_007 })
    await other.mine((await chain.head()) + 5)
    let requests = 0
    intercept = (request, pass) => (++requests <= 60 ? pass() : requestFrom(other.url, request))
    await expect(linesOf(jsonOf(proxy.url))).rejects.toThrow(
      /^The node \S+ is of chain 99, and the configuration's chainId is 31337$/,
    )
    await other.stop()
  })

  test('that are replaced by one of another, shorter chain stops where it follows', async () => {
    const other = await startChain({ chainId: 99 })
    let isReplaced = false
    intercept = (request, pass) => (isReplaced ? requestFrom(other.url, request) : pass())
    const feed = chainFeed(optionsOf(jsonOf(proxy.url), { once: false, signal: AbortSignal.timeout(30_000) }), null)
    feed.onEnd(() => {
      isReplaced = true
      return Promise.resolve()
    })
    const read = async (): Promise<void> => {
      for await (const facts of feed.facts) expect(facts).not.toEqual([])
    }
    await expect(read()).rejects.toThrow(/^The node \S+ is of chain 99, and the configuration's chainId is 31337$/)
    await other.stop()
  })

  test('behind one URL, of which one is on another fork, does not report a reorganisation', async () => {
    const answered = new Set<string>()
    const odd = `0x${'7'.repeat(64)}`
    intercept = async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getBlockByNumber' || !('result' in answer)) return answer
      const [at] = request.params as [`0x${string}`]
      // The first response for each block is of the other fork.
      const isOdd = at.startsWith('0x') && hexToNumber(at) > vault.firstBlock + 20 && !answered.has(at)
      if (isOdd) answered.add(at)
      return isOdd ? { result: { ...(answer.result as object), hash: odd, parentHash: odd } } : answer
    }
    expect(await linesOf(jsonOf(proxy.url))).toEqual(right)
    expect(answered.size).toBeGreaterThan(10)
  })

  test('that always omit the logs of a position sets its vault aside, and reads the others', async () => {
    const holding = await openVault(chain, protocol, protocol.usdc)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    const swap = protocol.swapData(holding.address, protocol.usdc, protocol.weth, usdc(50))
    const pair = [
      [protocol.usdc, usdc(30)],
      [protocol.weth, weth(0.02)],
    ] as const
    const mint = protocol.mintData(holding.address, -887_270, 887_270, pair)
    await chain.block(holding.deposit(alice, usdc(100)))
    await chain.block(holding.run([protocol.router, swap], [protocol.manager, mint]))
    await chain.mine(70)
    const others = await linesOf(jsonOf(chain.url))
    const messages: ReaderMessage[] = []
    const lines = await readWith((logs) => logs.filter(({ topics }) => !topics.includes(ofPosition)), messages, holding)
    const isOfHolding = (line: string): boolean => line.includes(holding.address)
    expect(lines.filter((line) => !isOfHolding(line))).toEqual(others)
    expect(messages.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        message: expect.stringMatching(
          /^A vault is set aside: Answers of the nodes lack logs or contradict each other, or a contract does not log all that it does: /,
        ) as string,
        facts: { vault: holding.address, block: expect.any(Number) as number },
      },
    ])
  })
})

async function requestFrom(url: string, request: RpcRequest): Promise<RpcAnswer> {
  const body = JSON.stringify({ jsonrpc: '2.0', ...request })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await answer.json()) as RpcAnswer
}

function withoutOneDeposit(logs: readonly Log[]): readonly Log[] {
  const first = logs.findIndex(({ topics }) => topics[0] === deposit)
  return logs.filter((_, index) => index !== first)
}

/** The topic of the position that the vault of the last test mints. */
const ofPosition = `0x${'0'.repeat(63)}3`

/** Returns the number of blocks of a request for logs; 0 for other requests. */
function widthOf({ method, params }: RpcRequest): number {
  const { fromBlock, toBlock } = (params[0] ?? {}) as LogRequest
  if (method !== 'eth_getLogs' || fromBlock === undefined || toBlock === undefined) return 0
  return hexToNumber(toBlock) - hexToNumber(fromBlock) + 1
}
