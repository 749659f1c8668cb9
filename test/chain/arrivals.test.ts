import { type Address, type Hex, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { gatewayOn } from '../support/gateway.ts'
import { type Call, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import { type Known, observe } from './support/observer.ts'
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import {
  applyChain,
  chainJson,
  type ChainJson,
  factsOf,
  linesAfter,
  linesOf,
  positionsOf,
  type ReaderMessage,
  shortFaultTimes,
} from './support/reading.ts'
import { openStrays, transferData, transferOf } from './support/strays.ts'

type Mark = Extract<FactInput, { kind: 'mark' }>
type Event = Extract<FactInput, { kind: 'event' }>

const marksOf = (facts: readonly FactInput[]): Mark[] => facts.filter((fact) => fact.kind === 'mark')
const eventsOf = (facts: readonly FactInput[]): Event[] => facts.filter((fact) => fact.kind === 'event')

describeOnChain('positions that come to a vault', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let strays: Awaited<ReturnType<typeof openStrays>>
  let stranger: Address
  let alice: Address
  let bob: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    strays = await openStrays(chain, protocol)
    ;[stranger, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...vaults: Operator[]): ChainJson =>
    chainJson(
      chain.url,
      protocol,
      vaults.map(({ address, firstBlock }) => ({ address, firstBlock })),
    )
  const positionData = (to: Address, lower = -887_270, upper = 887_270) =>
    protocol.mintData(to, lower, upper, [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, weth(1)],
    ])
  const trade = () =>
    chain.block(
      protocol.swap(protocol.usdc, protocol.weth, usdc(300_000)),
      protocol.swap(protocol.weth, protocol.usdc, weth(140)),
    )

  async function funded(): Promise<Operator> {
    const vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(20_000)))
    const swap = protocol.swapData(vault.address, protocol.usdc, protocol.weth, usdc(9_000))
    await chain.block(vault.run([protocol.router, swap]))
    return vault
  }

  /** Mines calls, and returns the id of the position that the first of them mints. */
  async function minted(...calls: Call[]): Promise<bigint> {
    const [receipt] = await chain.block(...calls)
    const decoded =
      receipt && logsOf(receipt, stranger, protocol.manager).find(({ name }) => name === 'IncreaseLiquidity')
    return decoded?.args['tokenId'] as bigint
  }

  /** Withdraws a third of a position's liquidity without collecting it; returns the amounts. */
  async function freedPart(owner: Address, id: bigint, decrease: (data: Hex) => Call) {
    const { liquidity } = await observer.positionAt(owner, { id }, await chain.head())
    const [receipt] = await chain.block(decrease(protocol.decreaseData(id, liquidity / 3n)))
    const decoded =
      receipt && logsOf(receipt, stranger, protocol.manager).find(({ name }) => name === 'DecreaseLiquidity')
    return [decoded?.args['amount0'] as bigint, decoded?.args['amount1'] as bigint] as const
  }

  async function expectPending(mark: Mark | undefined, vault: Operator, known: Known): Promise<void> {
    const block = await blockAt(mark?.ts ?? 0)
    const prices = await observer.pricesAt(block)
    const { rewards } = await observer.positionAt(vault.address, known, block)
    expect(mark?.positions.find(({ id }) => id === String(known.id))?.pendingRewardsUsd).toBe(
      observer.worth(prices, rewards).toFixed(),
    )
  }

  async function blockAt(ts: number): Promise<number> {
    for (let number = await chain.head(); number > 0; number--) {
      const { timestamp } = await chain.client.getBlock({ blockNumber: BigInt(number) })
      if (Number(timestamp) === ts) return number
    }
    throw new Error(`No block is of ${ts}`)
  }

  test('in unknown tokens from another account change nothing', async () => {
    const vault = await funded()
    const { manager } = protocol
    const own = await minted(vault.run([manager, positionData(vault.address)]))
    await chain.mine(11)
    const [sent] = await chain.block(strays.mintTo(vault.address))
    const theirs = await minted(strays.mintTo(stranger))
    await chain.block(transferOf(protocol, stranger, vault.address, theirs))
    const between = await chain.head()
    await chain.mine(70)
    const { liquidity } = await observer.positionAt(vault.address, { id: own }, await chain.head())
    const collect = protocol.collectData(own, vault.address)
    await chain.block(vault.run([manager, protocol.decreaseData(own, liquidity)], [manager, collect]))
    await chain.mine(12)

    const facts = await factsOf(jsonOf(vault))
    expect(eventsOf(facts).map(({ type }) => type)).toEqual(['deposit', 'plant', 'exit'])
    expect(new Set(marksOf(facts).flatMap(({ positions }) => positions.map(({ id }) => id)))).toEqual(
      new Set([String(own)]),
    )
    const arrivals = [Number(sent?.blockNumber), between].filter((block) => block % 10 > 0)
    for (const block of arrivals) {
      const { timestamp } = await chain.client.getBlock({ blockNumber: BigInt(block) })
      expect(facts.filter(({ ts }) => ts === Number(timestamp))).toEqual([])
    }
    const database = await emptyDatabase()
    await applyChain(database, jsonOf(vault))
    const response = await gatewayOn(database).get(`/vault/${vault.address}/snapshot`)
    expect(await response.json()).toMatchObject({ status: 'exiting', positions: [] })
    await expectSameFromAnywhere(jsonOf(vault))
  })

  test('in unknown tokens are read once, however many there are', async () => {
    const vault = await funded()
    const ids = new Set<bigint>()
    for (let count = 0; count < 20; count++) ids.add(await minted(strays.mintTo(vault.address)))
    await chain.mine(150)
    const reads = new Map([...ids].map((id) => [callOfPosition(id), 0]))
    const proxy = await startProxy(chain.url, (request, pass) => {
      const { data = '' } = (request.params[0] ?? {}) as { data?: string }
      for (const call of reads.keys()) if (data.includes(call)) reads.set(call, (reads.get(call) ?? 0) + 1)
      return pass()
    })
    const json = { ...jsonOf(vault), rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }
    expect(marksOf(await factsOf(json)).length).toBeGreaterThan(15)
    // Before the logs with its arrival, and after them.
    expect([...reads.values()].filter((times) => times > 2)).toEqual([])
    await proxy.close()
  })

  test('with withdrawn, uncollected liquidity distinguish it from rewards', async () => {
    const ofStranger = (data: Hex) => ({ from: stranger, to: protocol.manager, data })
    const id = await minted(ofStranger(positionData(stranger)))
    await trade()
    // Part of the liquidity was withdrawn and collected before.
    await freedPart(stranger, id, ofStranger)
    await chain.block(ofStranger(protocol.collectData(id, stranger)))
    const freed = await freedPart(stranger, id, ofStranger)
    await trade()
    const vault = await funded()
    await chain.mine(30)
    await chain.block(transferOf(protocol, stranger, vault.address, id))
    await trade()
    await chain.mine(90)
    const facts = await factsOf(jsonOf(vault))
    const known = { id, freed }
    const marks = marksOf(facts).filter(({ positions }) => positions.length > 0)
    expect(marks.length).toBeGreaterThan(5)
    for (const mark of [marks[0], marks.at(-1)]) await expectPending(mark, vault, known)
    expect(Number(marks[0]?.positions[0]?.pendingRewardsUsd)).toBeLessThan(1_000)
    await expectSameFromAnywhere(jsonOf(vault))
    for (const topic of [decreaseLiquidity, collect, transfer]) {
      expect(await factsWithout(topic, jsonOf(vault))).toEqual(facts)
    }
  })

  /** Reads from a node whose first response with logs of this topic lacks them. */
  async function factsWithout(topic: string, json: ChainJson): Promise<FactInput[]> {
    let leftOut = 0
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      const [{ topics = [] } = {}] = request.params as { topics?: (readonly unknown[])[] }[]
      const isOfPosition = request.method === 'eth_getLogs' && (topics.length === 4 || topics[0]?.length === 3)
      if (!isOfPosition || leftOut > 0 || !('result' in answer)) return answer
      const logs = answer.result as { topics: string[] }[]
      const kept = logs.filter(({ topics: [first] }) => first !== topic)
      leftOut = logs.length - kept.length
      return { result: kept }
    })
    const messages: ReaderMessage[] = []
    const lines = await linesOf({ ...json, rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }, messages)
    expect(leftOut).toBeGreaterThan(0)
    expect(messages.map(({ message }) => message)).toContain('The chain is read again')
    await proxy.close()
    return lines.map((line) => JSON.parse(line) as FactInput)
  }

  /** Sends a position with a part that was freed before to one of two vaults. */
  async function sentToOneOfTwo(): Promise<{ id: bigint; vault: Operator; other: Operator }> {
    const ofStranger = (data: Hex) => ({ from: stranger, to: protocol.manager, data })
    const id = await minted(ofStranger(positionData(stranger)))
    await freedPart(stranger, id, ofStranger)
    const [vault, other] = [await funded(), await funded()]
    await chain.mine(12)
    await chain.block(transferOf(protocol, stranger, vault.address, id))
    await chain.mine(12)
    return { id, vault, other }
  }

  test('whose creation no node has a log of set aside their vault alone', async () => {
    const { id, vault, other } = await sentToOneOfTwo()
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      const [{ topics = [] } = {}] = request.params as { topics?: (readonly unknown[])[] }[]
      const isOfCreation = request.method === 'eth_getLogs' && topics.length === 4
      return isOfCreation && 'result' in answer ? { result: [] } : answer
    })
    const messages: ReaderMessage[] = []
    const json = { ...jsonOf(vault, other), rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }
    const lines = await linesOf(json, messages)
    await proxy.close()
    expect(
      messages.filter(({ level }) => level === 'error').map(({ message, facts }) => [message, facts['vault']]),
    ).toEqual([[expect.stringContaining(`position ${id} of block`), vault.address]])
    expect(lines.filter((line) => !line.includes(`"vault":"${vault.address}"`))).toEqual(await linesOf(jsonOf(other)))
  })

  test('whose old logs the nodes have pruned set aside their vault alone', async () => {
    const { id, vault, other } = await sentToOneOfTwo()
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const [{ topics = [] } = {}] = request.params as { topics?: (readonly unknown[])[] }[]
      const isOfCreation = request.method === 'eth_getLogs' && topics.length === 4
      return isOfCreation ? { error: { code: 4444, message: 'pruned history unavailable' } } : pass()
    })
    const messages: ReaderMessage[] = []
    const json = { ...jsonOf(vault, other), rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }
    const lines = await linesOf(json, messages, shortFaultTimes)
    await proxy.close()
    const errors = messages.filter(({ message }) => message.startsWith('A vault is set aside'))
    expect(errors.map(({ message, facts }) => [message, facts['vault']])).toEqual([
      [expect.stringContaining(`holds position ${id}, whose logs since its creation can't be read`), vault.address],
    ])
    expect(lines.filter((line) => !line.includes(`"vault":"${vault.address}"`))).toEqual(await linesOf(jsonOf(other)))
  })

  test('whose old logs the nodes have pruned set aside all their vaults at once, and no others', async () => {
    const ofStranger = (data: Hex) => ({ from: stranger, to: protocol.manager, data })
    const freed = async (): Promise<bigint> => {
      const id = await minted(ofStranger(positionData(stranger)))
      await freedPart(stranger, id, ofStranger)
      return id
    }
    const old = [await freed(), await freed(), await freed()]
    const pruned = await chain.head()
    await chain.mine(70)
    const ids = [...old, await freed()]
    const vaults = [await funded(), await funded(), await funded(), await funded()]
    const other = vaults[3] as Operator
    await chain.mine(12)
    await chain.block(
      ...vaults.map((vault, index) => transferOf(protocol, stranger, vault.address, ids[index] as bigint)),
    )
    await chain.mine(12)
    const proxy = await startProxy(chain.url, async (request, pass) => {
      if (request.method !== 'eth_getLogs') return pass()
      const [{ fromBlock, blockHash } = {}] = request.params as { fromBlock?: Hex; blockHash?: Hex }[]
      const from = blockHash === undefined ? fromBlock : (await chain.client.getBlock({ blockHash })).number
      return Number(from) <= pruned ? { error: { code: 4444, message: 'pruned history unavailable' } } : pass()
    })
    const messages: ReaderMessage[] = []
    const json = { ...jsonOf(...vaults), rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }
    const lines = await linesOf(json, messages, shortFaultTimes)
    await proxy.close()
    const errors = messages.filter(({ message }) => message.startsWith('A vault is set aside'))
    expect(errors.map(({ message, facts }) => [message, facts['vault']])).toEqual(
      old.map((id, index) => [
        expect.stringContaining(`holds position ${id}, whose logs since its creation can't be read`) as string,
        vaults[index]?.address,
      ]),
    )
    expect(messages.filter(({ message }) => message === 'The chain is read again')).toHaveLength(2)
    const isOfOld = (line: string): boolean =>
      vaults.some((vault) => vault !== other && line.includes(`"vault":"${vault.address}"`))
    expect(lines.filter((line) => !isOfOld(line))).toEqual(await linesOf(jsonOf(other)))
  })

  test('with all of their logs in the block of their arrival have the state at its end', async () => {
    const vault = await funded()
    const ofStranger = (data: Hex) => ({ from: stranger, to: protocol.manager, data })
    const id = await minted(ofStranger(positionData(stranger)))
    const { liquidity } = await observer.positionAt(stranger, { id }, await chain.head())
    await trade()
    const [, , exit] = await chain.block(
      ofStranger(protocol.decreaseData(id, liquidity / 2n)),
      transferOf(protocol, stranger, vault.address, id),
      vault.run([protocol.manager, protocol.decreaseData(id, liquidity - liquidity / 2n)]),
    )
    await chain.mine(12)
    const collected = await minted(vault.run([protocol.manager, positionData(vault.address)]))
    const [collect] = await chain.block(vault.run([protocol.manager, protocol.collectData(id, vault.address)]))
    await chain.mine(12)
    const events = eventsOf(await factsOf(jsonOf(vault))).filter((event) => event.type !== 'deposit')
    expect(events.map(({ type, txHash }) => [type, txHash])).toEqual([
      ['exit', exit?.transactionHash],
      ['plant', expect.any(String)],
      ['harvest', collect?.transactionHash],
    ])
    expect(collected).toBeGreaterThan(id)
    expect(Number((events.at(-1) as { amountUsd?: string }).amountUsd)).toBeLessThan(1_000)
  })

  test('that leave and return have their current state, and those in unknown tokens have no facts', async () => {
    const vault = await funded()
    const other = await openVault(chain, protocol, protocol.usdc)
    const { manager } = protocol
    const ofStranger = (data: Hex) => ({ from: stranger, to: manager, data })
    const id = await minted(vault.run([manager, positionData(vault.address)]))
    const stray = await minted(strays.mintTo(vault.address))
    await chain.block(vault.run([manager, transferData(vault.address, stranger, id)]))
    const freed = await freedPart(stranger, id, ofStranger)
    await chain.block(transferOf(protocol, stranger, vault.address, id))
    await chain.block(vault.run([manager, transferData(vault.address, other.address, stray)]))
    await trade()
    await chain.mine(20)
    for (const [holder, position] of [
      [vault, id],
      [other, stray],
    ] as const) {
      const { liquidity } = await observer.positionAt(holder.address, { id: position }, await chain.head())
      await chain.block(holder.run(...protocol.burnCalls(position, liquidity, holder.address)))
    }
    await chain.mine(70)
    const facts = await factsOf(jsonOf(vault, other))
    const mine = facts.filter((fact) => 'vault' in fact && fact.vault === vault.address)
    expect(eventsOf(mine).map(({ type }) => type)).toEqual(['deposit', 'plant', 'exit', 'harvest'])
    await expectPending(
      marksOf(mine).findLast(({ positions }) => positions.length > 0),
      vault,
      { id, freed },
    )
    const theirs = facts.filter((fact) => 'vault' in fact && fact.vault === other.address)
    expect(eventsOf(theirs)).toEqual([])
    expect(marksOf(theirs).flatMap(({ positions }) => positions)).toEqual([])
    await expectSameFromAnywhere(jsonOf(vault, other))
  })

  test('from another vault yield the same facts where that vault is added later', async () => {
    const first = await funded()
    const second = await openVault(chain, protocol, protocol.usdc)
    await chain.block(second.deposit(bob, usdc(500)))
    const { manager } = protocol
    const id = await minted(first.run([manager, positionData(first.address, 100_000, 300_000)]))
    await trade()
    const freed = await freedPart(first.address, id, (data) => first.run([manager, data]))
    await trade()
    await chain.block(first.run([manager, transferData(first.address, second.address, id)]))
    await chain.mine(80)
    await chain.block(second.run([manager, protocol.collectData(id, second.address)]))
    await chain.mine(12)

    const alone = (await factsOf(jsonOf(second))).filter((fact) => 'vault' in fact)
    const both = (await factsOf(jsonOf(first, second))).filter((fact) => 'vault' in fact)
    expect(both.filter(({ vault }) => vault === second.address)).toEqual(alone)
    const holding = marksOf(alone).filter(({ positions }) => positions.length > 0)
    await expectPending(holding[0], second, { id, freed })

    const database = await emptyDatabase()
    await applyChain(database, jsonOf(second))
    const { applied, rejected } = await applyChain(database, jsonOf(first, second))
    expect({ applied, rejected }).toMatchObject({ applied: { vault: 1 }, rejected: {} })
    const grown = await dumpReadModel(database)
    await applyChain(await emptyDatabase(), jsonOf(first, second))
    expect(await dumpReadModel(database)).toEqual(grown)
  })

  /** Resumes reading at every seventh possible position; the first one differs between tests. */
  async function expectSameFromAnywhere(json: ChainJson): Promise<void> {
    const lines = await linesOf(json)
    const positions = await positionsOf(json)
    for (const [line, position] of [...positions].filter((_, index) => (index + lines.length) % 7 === 0)) {
      expect(await linesAfter(json, position), `from line ${line}`).toEqual(lines.slice(line))
    }
  }
})

const [decreaseLiquidity, collect, transfer] = [
  'DecreaseLiquidity(uint256,uint128,uint256,uint256)',
  'Collect(uint256,address,uint256,uint256)',
  'Transfer(address,address,uint256)',
].map((signature) => toEventSelector(signature)) as [Hex, Hex, Hex]

/** Returns the call data that reads a position: positions(uint256). */
function callOfPosition(id: bigint): string {
  return `99fbab88${id.toString(16).padStart(64, '0')}`
}
