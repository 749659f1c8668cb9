import { type Address, hexToNumber, numberToHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, type RpcAnswer, type RpcRequest, startProxy } from './support/proxy.ts'
import { randomOf } from './support/random.ts'
import { chainJson, linesOf, type ReaderMessage } from './support/reading.ts'

const error = (code: number, message: string): RpcAnswer => ({ error: { code, message } })

describeOnChain('a reader of nodes that err', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  /** A vault without positions, for which contracts cannot reveal missing logs. */
  let plain: Operator
  /** The facts from a node without faults. */
  let right: string[]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    plain = await openVault(chain, protocol, protocol.usdc)
    await live()
    right = await linesOf(jsonOf(chain.url))
    expect(right.length).toBeGreaterThan(40)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...urls: string[]) =>
    chainJson(
      urls,
      protocol,
      [vault, plain].map(({ address, firstBlock }) => ({ address, firstBlock })),
    )

  /** Mines deposits, positions, trades and withdrawals over some 300 blocks, the last ones close together. */
  async function live(): Promise<void> {
    const [, , alice] = chain.accounts as [Address, Address, Address]
    const { manager, router } = protocol
    await chain.block(vault.deposit(alice, usdc(50_000)))
    const swap = protocol.swapData(vault.address, protocol.usdc, protocol.weth, usdc(9_000))
    const mint = protocol.mintData(vault.address, -887_270, 887_270, [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, weth(2)],
    ])
    await chain.block(vault.run([router, swap], [manager, mint]))
    for (const pause of [60, 60, 60, 60, 3, 1, 1, 1]) {
      await chain.block(protocol.swap(protocol.usdc, protocol.weth, usdc(70_000)), vault.deposit(alice, usdc(11)))
      await chain.block(vault.run([manager, protocol.collectData(3n, vault.address)]), vault.withdraw(alice, usdc(7)))
      await chain.block(vault.run([manager, protocol.decreaseData(3n, 10n ** 9n)]))
      await chain.block(plain.deposit(alice, usdc(5)))
      await chain.mine(pause)
    }
    await chain.mine(5)
  }

  async function read(intercept: Intercept, messages: ReaderMessage[] = []): Promise<string[]> {
    const proxy = await startProxy(chain.url, intercept)
    try {
      return await linesOf(jsonOf(proxy.url), messages)
    } finally {
      await proxy.close()
    }
  }

  test.each([1, 2, 3])(
    'retries dropped requests, nulls and errors, and reads the same facts (seed %i)',
    async (seed) => {
      const random = randomOf(seed)
      const intercept: Intercept = (_, pass) => {
        const chance = random()
        if (chance < 0.06) return Promise.resolve('drop')
        if (chance < 0.12) return Promise.resolve({ result: null })
        if (chance < 0.16) return Promise.resolve(error(-32_000, 'header not found'))
        if (chance < 0.2) return Promise.resolve(error(-32_005, 'limit exceeded'))
        if (chance < 0.22) return Promise.resolve({ result: '0x' })
        return pass()
      }
      const messages: ReaderMessage[] = []
      expect(await read(intercept, messages)).toEqual(right)
      expect(messages.some(({ message }) => message === 'The chain is waited for')).toBe(true)
    },
  )

  test.each<[string, string]>([
    ['says which ones', 'eth_getLogs is limited to a 9 block range'],
    ['does not say why', 'computer says no'],
  ])('narrows its ranges where a provider limits them and %s', async (_name, message) => {
    let widest = 0
    const intercept: Intercept = (request, pass) => {
      const width = widthOf(request)
      if (width > 10) return Promise.resolve(error(-32_602, message))
      widest = Math.max(widest, width)
      return pass()
    }
    expect(await read(intercept)).toEqual(right)
    expect(widest).toBeGreaterThan(5)
  })

  test('detects a node that lags, always or at random', async () => {
    const head = await chain.head()
    const random = randomOf(4)
    const stuck = await startProxy(chain.url, (request, pass) => lagging(request, pass, head - 150))
    const swaying = await startProxy(chain.url, (request, pass) => lagging(request, pass, head - random() * 40))
    expect(await linesOf(jsonOf(stuck.url, swaying.url))).toEqual(right)
    await Promise.all([stuck.close(), swaying.close()])
  })

  test('does not accept a block without logs where its bloom filter has some', async () => {
    const emptied = new Set<unknown>()
    const intercept: Intercept = (request, pass) => {
      const { blockHash } = (request.params[0] ?? {}) as LogRequest
      if (!isOfOneBlock(request) || emptied.has(blockHash)) return pass()
      emptied.add(blockHash)
      return Promise.resolve({ result: [] })
    }
    expect(await read(intercept)).toEqual(right)
    expect(emptied.size).toBeGreaterThan(10)
  })

  test('reads again where logs of positions were left out of a range', async () => {
    let leftOut = 0
    const intercept: Intercept = async (request, pass) => {
      const answer = await pass()
      if (widthOf(request) < 5 || leftOut > 0 || !('result' in answer)) return answer
      const logs = answer.result as { data: string; topics: string[] }[]
      const kept = logs.filter(({ topics }) => topics[0] !== decreaseLiquidity)
      leftOut += logs.length - kept.length
      return { result: kept }
    }
    const messages: ReaderMessage[] = []
    expect(await read(intercept, messages)).toEqual(right)
    expect(leftOut).toBeGreaterThan(0)
    expect(messages.some(({ message }) => message === 'The chain is read again')).toBe(true)
  })

  test('uses the next node at once where one is down', async () => {
    const down = await startProxy(chain.url, () => Promise.resolve('drop'))
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf(down.url, chain.url), messages)).toEqual(right)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
    await down.close()
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['an empty number', '0x'],
    ['no number', 'soon'],
  ])('repeats the request where a node responds with %s for its chain id', async (_name, result) => {
    let requests = 0
    const intercept: Intercept = (request, pass) =>
      request.method === 'eth_chainId' && ++requests <= 3 ? Promise.resolve({ result }) : pass()
    expect(await read(intercept)).toEqual(right)
    // The chain id is requested again with each range of blocks.
    expect(requests).toBeGreaterThan(3)
  })

  test('stops at a node of another chain, by its name', async () => {
    const proxy = await startProxy(chain.url, (request, pass) =>
      request.method === 'eth_chainId' ? Promise.resolve({ result: '0x1' }) : pass(),
    )
    await expect(linesOf(jsonOf(proxy.url))).rejects.toThrow(
      `The node ${new URL(proxy.url).host} is of chain 1, and the configuration's chainId is 31337`,
    )
    await proxy.close()
  })
})

const decreaseLiquidity = '0x26f6a048ee9138f2c0ce266f322cb99228e8d619ae2bff30c67f8dcf9d2377b4'

interface LogRequest {
  readonly blockHash?: string
  readonly fromBlock?: `0x${string}`
  readonly toBlock?: `0x${string}`
}

function isOfOneBlock({ method, params }: RpcRequest): boolean {
  return method === 'eth_getLogs' && (params[0] as LogRequest).blockHash !== undefined
}

/** Returns the number of blocks of a request for logs; 0 for other requests. */
function widthOf({ method, params }: RpcRequest): number {
  const { fromBlock, toBlock } = (params[0] ?? {}) as LogRequest
  if (method !== 'eth_getLogs' || fromBlock === undefined || toBlock === undefined) return 0
  return hexToNumber(toBlock) - hexToNumber(fromBlock) + 1
}

/** Responds as a node that lags: null for blocks after its head, and no logs, without an error. */
async function lagging(request: RpcRequest, pass: (request?: RpcRequest) => Promise<RpcAnswer>, head: number) {
  const [first] = request.params
  if (request.method === 'eth_getBlockByNumber') {
    return first !== 'latest' && hexToNumber(first as `0x${string}`) > head ? { result: null } : pass()
  }
  const { toBlock } = (first ?? {}) as LogRequest
  if (request.method !== 'eth_getLogs' || toBlock === undefined || hexToNumber(toBlock) <= head) return pass()
  return pass({ ...request, params: [{ ...(first as LogRequest), toBlock: numberToHex(Math.floor(head)) }] })
}
