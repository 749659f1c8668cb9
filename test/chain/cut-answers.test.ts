import { type Address, padHex, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, linesOf, optionsOf, type ReaderMessage, shortFaultTimes as faultTimes } from './support/reading.ts'

const deposit = toEventSelector('Deposit(address,address,uint256,uint256)')
const owned = toEventSelector('OwnershipTransferred(address,address)')

const nobody = padHex('0x', { size: 32 })

interface Log {
  readonly topics: readonly string[]
  readonly transactionHash: string
  readonly blockNumber: string
  readonly logIndex: string
}

describeOnChain('a reader of nodes that tell less than there is, or something else', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let right: string[]
  /** A vault whose position changes often. */
  let holding: Operator
  let [alice, bob, heir] = [] as unknown as [Address, Address, Address]
  let intercept: Intercept
  let proxy: Awaited<ReturnType<typeof startProxy>>

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice, bob, , heir] = chain.accounts as [Address, Address, Address, Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    holding = await openVault(chain, protocol, protocol.usdc)
    await chain.block(holding.deposit(alice, usdc(9_000)), protocol.mint(holding.address, protocol.weth, weth(3)))
    const pair = [
      [protocol.usdc, usdc(900)],
      [protocol.weth, weth(0.4)],
    ] as const
    const { manager } = protocol
    await chain.block(holding.run([manager, protocol.mintData(holding.address, -887_270, 887_270, pair)]))
    for (let time = 0; time < 6; time++) {
      await chain.block(holding.run([manager, protocol.increaseData(3n, 10n ** 7n, 10n ** 7n)]))
    }
    await chain.block(
      holding.run([manager, protocol.increaseData(3n, 10n ** 7n, 10n ** 7n)]),
      holding.deposit(alice, usdc(50)),
    )
    for (const [round, pause] of [3, 3, 3, 66, 2, 4].entries()) {
      await chain.block(vault.deposit(alice, usdc(20)), vault.deposit(bob, usdc(30)), vault.withdraw(alice, usdc(3)))
      const [from, to] = round % 2 === 0 ? [vault.owner, heir] : [heir, vault.owner]
      await chain.block(vault.callOf(from, 'transferOwnership', to))
      await chain.mine(pause)
    }
    proxy = await startProxy(chain.url, (request, pass) => intercept(request, pass))
    right = await linesOf(jsonOf(chain.url))
    expect(right.filter((line) => line.includes('"deposit"'))).toHaveLength(12)
  }, patienceMilliseconds)
  afterAll(async () => {
    await proxy.close()
    await chain.stop()
  })

  const jsonOf = (url: string, { address, firstBlock } = vault) =>
    chainJson(url, protocol, [{ address, firstBlock }], { markEveryBlocks: 5 })

  type LogsOf = (logs: readonly Log[], ofBlock: boolean) => readonly Log[]

  /** Modifies the lists of logs in a node's responses. */
  function withLogs(change: LogsOf): Intercept {
    return async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getLogs' || !('result' in answer)) return answer
      const ofBlock = 'blockHash' in (request.params[0] as object)
      return { result: change(answer.result as Log[], ofBlock) }
    }
  }

  test('that truncate each range of logs without an error reads the blocks one by one', async () => {
    let cut = 0
    intercept = withLogs((logs, ofBlock) => {
      if (ofBlock || logs.length <= 3) return logs
      cut++
      return logs.slice(0, 3)
    })
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf(proxy.url), messages)).toEqual(right)
    expect(cut).toBeGreaterThan(2)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
  })

  test('that truncate the changes of a position reads the blocks one by one, too', async () => {
    const all = await linesOf(jsonOf(chain.url, holding))
    expect(all.filter((line) => line.includes('"rebalance"'))).toHaveLength(7)
    intercept = withLogs((logs, ofBlock) => (ofBlock ? logs : logs.slice(0, 3)))
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf(proxy.url, holding), messages)).toEqual(all)
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('that omit deposits from all ranges reads the blocks one by one', async () => {
    intercept = withLogs((logs, ofBlock) => (ofBlock ? logs : logs.filter(({ topics: [first] }) => first !== deposit)))
    expect(await linesOf(jsonOf(proxy.url))).toEqual(right)
  })

  test('that have pruned the deposits of old blocks yields no facts without them', async () => {
    intercept = withLogs((logs) => logs.filter(({ topics: [first] }) => first !== deposit))
    const lines: string[] = []
    const reading = (async () => {
      const retry = { firstMilliseconds: 2, maxMilliseconds: 20, faultTimes }
      const { facts } = chainFeed({ ...optionsOf(jsonOf(proxy.url)), retry }, null)
      for await (const some of facts) lines.push(...some.map((fact) => JSON.stringify(fact)))
    })()
    await expect(reading).rejects.toThrow(/left out logs of block \d+/)
    expect(lines).toEqual(right.slice(0, lines.length))
  })

  test('that have no bloom filters, and whose logs lag behind, repeats the requests', async () => {
    const requested = new Set<string>()
    intercept = async (request, pass) => {
      const answer = await pass()
      if (!('result' in answer)) return answer
      if (request.method === 'eth_getBlockByNumber') {
        return { result: { ...(answer.result as object), logsBloom: padHex('0x', { size: 256 }) } }
      }
      const { blockHash } = (request.params[0] ?? {}) as { blockHash?: string }
      if (request.method !== 'eth_getLogs' || blockHash === undefined || requested.has(blockHash)) return answer
      requested.add(blockHash)
      return { result: [] }
    }
    expect(await linesOf(jsonOf(proxy.url))).toEqual(right)
    expect(requested.size).toBeGreaterThan(5)
  })

  test('that respond with an owner of another fork reads again', async () => {
    let forged = 0
    intercept = withLogs((logs, ofBlock) =>
      logs.map((log) => {
        if (ofBlock || log.topics[0] !== owned || log.topics[1] === nobody || forged > 0) return log
        forged++
        const topics = [...log.topics.slice(0, 2), padHex(alice, { size: 32 })]
        return { ...log, topics, blockHash: `0x${'7'.repeat(64)}` }
      }),
    )
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf(proxy.url), messages)).toEqual(right)
    expect(forged).toBe(1)
    expect(messages.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })

  test('that number the logs within each transaction reads all of them in their order', async () => {
    const firsts = new Map<string, number>()
    for (let number = 1; number <= (await chain.head()); number++) {
      for (const { transactionHash, logIndex } of await chain.client.getLogs({
        fromBlock: BigInt(number),
        toBlock: BigInt(number),
      })) {
        firsts.set(transactionHash, Math.min(logIndex, firsts.get(transactionHash) ?? logIndex))
      }
    }
    intercept = withLogs((logs) =>
      logs.map((log) => {
        const index = Number(log.logIndex) - (firsts.get(log.transactionHash) ?? 0)
        return { ...log, logIndex: `0x${index.toString(16)}` }
      }),
    )
    const withoutIndex = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/"logIndex":\d+/, ''))
    expect(withoutIndex(await linesOf(jsonOf(proxy.url)))).toEqual(withoutIndex(right))
    const all = await linesOf(jsonOf(chain.url, holding))
    expect(withoutIndex(await linesOf(jsonOf(proxy.url, holding)))).toEqual(withoutIndex(all))
  })
})
