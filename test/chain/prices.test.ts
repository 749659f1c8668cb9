import { type Address, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readChainConfig } from '../../src/chain/config.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import {
  applyChain,
  chainJson,
  type ChainJson,
  factsOf,
  linesOf,
  type ReaderMessage,
  type MarkFact,
} from './support/reading.ts'

const dollars = (amount: number): bigint => BigInt(Math.round(amount * 1e8))
const twapSeconds = 36
const maxAgeSeconds = 100

describeOnChain('prices', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let vault: Operator
  let ethFeed: Address
  let usdcFeed: Address
  let deployer: Address
  let alice: Address
  /** The block after which the price feed is too old, and that in which it is updated. */
  let fresh: number
  let renewed: number

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
    ;[ethFeed, usdcFeed] = [await deployFeed(), await deployFeed()]
    vault = await openVault(chain, protocol, protocol.weth)
    await chain.block(vault.deposit(alice, weth(10)), setPrice(ethFeed, 2_000), setPrice(usdcFeed, 0.97))
    fresh = await chain.head()
    await chain.block(
      callOf(deployer, protocol.ethPool, artifacts.pool.abi, 'increaseObservationCardinalityNext', [50]),
    )
    for (const amount of [900_000, 40_000, 700_000, 5]) {
      await chain.block(protocol.swap(protocol.usdc, protocol.weth, usdc(amount)))
      await chain.block(protocol.swap(protocol.weth, protocol.usdc, weth(amount / 7_000)))
    }
    await chain.mine(14)
    await chain.block(setPrice(ethFeed, 2_001), setPrice(usdcFeed, 0.98))
    renewed = await chain.head()
    await chain.mine(14)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const deployFeed = (): Promise<Address> => chain.deploy(deployer, artifacts.creationOf(artifacts.feed, 8))
  const setPrice = (feed: Address, amount: number) =>
    callOf(deployer, feed, artifacts.feed.abi, 'set', [dollars(amount)])
  const fileOf = (prices: Record<string, unknown>): ChainJson => {
    const json = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], {
      markEveryBlocks: 2,
    })
    const tokens = json['tokens'] as { symbol: string; price: unknown }[]
    const withPrices = tokens.map((token) => ({ ...token, price: prices[token.symbol] ?? token.price }))
    return { ...json, tokens: withPrices.filter(({ symbol }) => symbol !== 'WBTC') }
  }
  const marksIn = (facts: readonly FactInput[]): MarkFact[] =>
    facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
  async function blocksByTs(): Promise<Map<number, number>> {
    const blocks = new Map<number, number>()
    for (let block = vault.firstBlock; block <= (await chain.head()); block++) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    return blocks
  }
  const blocksOf = async (marks: readonly MarkFact[]): Promise<number[]> => {
    const blocks = await blocksByTs()
    return marks.map(({ ts }) => blocks.get(ts) as number)
  }

  test('are the mean of a pool over the stated seconds', async () => {
    const marks = marksIn(await factsOf(fileOf({ WETH: { pools: [protocol.ethPool], twapSeconds } })))
    expect(marks.length).toBeGreaterThan(12)
    const blocks = await blocksOf(marks)
    for (const [index, mark] of marks.entries()) {
      const [[from, to]] = (await chain.client.readContract({
        address: protocol.ethPool,
        abi: parseAbi(['function observe(uint32[]) view returns (int56[], uint160[])']),
        functionName: 'observe',
        args: [[twapSeconds, 0]],
        blockNumber: BigInt(blocks[index] as number),
      })) as unknown as [[bigint, bigint], bigint[]]
      const mean = Math.floor(Number(to - from) / twapSeconds)
      expect(Number(mark.prices['WETH'])).toBeCloseTo(observer.priceAtTick(mean).toNumber(), 7)
    }
    expect(new Set(marks.map(({ prices }) => prices['WETH'])).size).toBeGreaterThan(3)
  })

  test('are those of a price feed, and marks wait where it is too old', async () => {
    const messages: ReaderMessage[] = []
    const lines = await linesOf(fileOf({ WETH: { feed: ethFeed, maxAgeSeconds } }), messages)
    const marks = marksIn(lines.map((line) => JSON.parse(line) as FactInput))
    const first = marks.filter(({ prices }) => prices['WETH'] === '2000')
    const second = marks.filter(({ prices }) => prices['WETH'] === '2001')
    expect(first.length + second.length).toBe(marks.length)
    expect(Math.max(...(await blocksOf(first)))).toBeLessThanOrEqual(fresh + maxAgeSeconds / 12)
    expect(Math.min(...(await blocksOf(second)))).toBeGreaterThanOrEqual(renewed)
    expect(first[0]?.valueUsd).toBe('20000')
    expect(messages.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      expect.stringMatching(
        `^Marks wait for a price: WETH has no price at block \\d+: the feed ${ethFeed} is \\d+ s old, and 100 s at most may be$`,
      ),
    ])
  })

  test('of pools are in the token at their end, which a feed may price', async () => {
    const feed = { feed: usdcFeed, maxAgeSeconds: 10_000 }
    const marks = marksIn(await factsOf(fileOf({ USDC: feed })))
    const blocks = await blocksOf(marks)
    expect(marks.length).toBeGreaterThan(12)
    for (const [index, { prices, valueUsd }] of marks.entries()) {
      if (valueUsd === '0') continue
      const block = blocks[index] as number
      const inDollars = block < renewed ? '0.97' : '0.98'
      const { WETH } = await observer.pricesAt(block)
      expect(prices['USDC']).toBe(inDollars)
      const expected = WETH?.times(inDollars).toNumber() as number
      expect(Number(prices['WETH'])).toBeCloseTo(expected, 10)
      expect(Number(valueUsd)).toBeCloseTo(10 * expected, 5)
    }
  })

  test('are refused where they differ from the second source by more than stated', async () => {
    const source = { pools: [protocol.ethPool] }
    const second = { feed: ethFeed, maxAgeSeconds: 10_000 }
    const all = marksIn(await factsOf(fileOf({}))).filter(({ valueUsd }) => valueUsd !== '0')
    const blocks = await blocksOf(all)
    const differences = all.map(({ prices }, index) => {
      const expectedUsd = (blocks[index] as number) < renewed ? 2_000 : 2_001
      return Math.abs(Number(prices['WETH']) / expectedUsd - 1) * 100
    })
    const [maxDifferencePercent] = differences.toSorted((a, b) => a - b).slice(differences.length / 3) as [number]
    const price = { source, second, maxDifferencePercent: maxDifferencePercent + 0.000_001 }
    const marks = marksIn(await factsOf(fileOf({ WETH: price })))
    const near = all.filter((_, index) => (differences[index] as number) <= price.maxDifferencePercent)
    expect(marks.map(({ ts, valueUsd }) => [ts, valueUsd])).toEqual(near.map(({ ts, valueUsd }) => [ts, valueUsd]))
    expect(near.length).toBeGreaterThan(1)
    expect(near.length).toBeLessThan(all.length)
  })

  test('that are refused at a flow are replaced by those of an earlier block, and the mark waits', async () => {
    const messages: ReaderMessage[] = []
    const stale = fileOf({ WETH: { feed: ethFeed, maxAgeSeconds } })
    await chain.block(vault.deposit(alice, weth(1)))
    const [deposited, linesBefore] = [await chain.head(), await linesOf(stale)]
    await chain.block(vault.withdraw(alice, weth(3)))
    const withdrawn = await chain.head()
    await chain.block(setPrice(ethFeed, 2_500))
    await chain.mine(8)
    const lines = await linesOf(stale, messages)
    const facts = lines.map((line) => JSON.parse(line) as FactInput)
    const flows = facts.filter((fact) => fact.kind === 'event' && fact.block >= deposited)
    // The price is refused at its own block, and was 2001 when it was not.
    expect(flows).toMatchObject([
      { type: 'deposit', amountUsd: '2001', valueBeforeUsd: '20010', prices: { WETH: '2001' } },
      { type: 'withdraw', amountUsd: '6003', valueBeforeUsd: '22011', prices: { WETH: '2001' } },
    ])
    const marks = marksIn(facts)
    const blocks = await blocksOf(marks)
    expect(blocks.filter((block) => block >= deposited && block <= withdrawn)).toEqual([])
    // The next mark whose price is not refused is a fact.
    const first = withdrawn + 1 + ((withdrawn + 1) % 2)
    expect(marks[blocks.indexOf(first)]?.valueUsd).toBe('20000')
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
    expect(messages.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /^Capital and fees are valued at an earlier price: WETH has no price at block \d+: the feed/,
      ),
    )
    expect(lines.slice(0, linesBefore.length)).toEqual(linesBefore)
  })

  test('from another source count where a refused one has delayed the mark, and do not change the events of its second', async () => {
    await chain.mine(12)
    await chain.block(vault.deposit(alice, weth(2)))
    const deposited = await chain.head()
    await chain.mine(4)
    const database = await emptyDatabase()
    await applyChain(database, fileOf({ WETH: { feed: ethFeed, maxAgeSeconds } }))
    const rows = () => database.prisma.ledgerRow.findMany({ orderBy: { block: 'asc' } })
    const before = await rows()
    expect(before.at(-1)).toMatchObject({ block: BigInt(deposited), type: 'deposit' })
    expect(String(before.at(-1)?.amountUsd)).toBe('5000')
    const { rejected } = await applyChain(database, fileOf({}))
    expect(rejected).toEqual({})
    expect(await rows()).toEqual(before)
    const marks = marksIn(await factsOf(fileOf({})))
    const blocks = await blocksOf(marks)
    const { valueUsd } = marks[blocks.indexOf(deposited)] as MarkFact
    const ts = BigInt((marks[blocks.indexOf(deposited)] as MarkFact).ts)
    const point = await database.prisma.equityPoint.findFirst({ where: { ts } })
    expect(String(point?.valueUsd)).toBe(valueUsd)
    expect(valueUsd).not.toBe('25000')
  })

  test('that never existed at a deposit set the vault aside', async () => {
    const messages: ReaderMessage[] = []
    const second = { feed: ethFeed, maxAgeSeconds: 31_536_000 }
    const price = { source: { pools: [protocol.ethPool] }, second, maxDifferencePercent: 0.000_001 }
    await linesOf(fileOf({ WETH: price }), messages).catch(() => undefined)
    expect(messages.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^A vault is set aside: WETH has no price at block \d+: \S+ differs by .+ % at most may, as in earlier blocks$/,
      ),
    ])
  })

  test('are refused in the file where they are incomplete', () => {
    const problemsOf = (price: unknown): string => {
      try {
        readChainConfig('chain.json', JSON.stringify(fileOf({ WETH: price })))
        return ''
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(problemsOf({ feed: ethFeed })).toContain('tokens[1].price is')
    expect(problemsOf({ feed: ethFeed, maxAgeSeconds: 5 })).toBe('')
    expect(problemsOf({ pools: [] })).toContain('tokens[1].price.pools is empty')
    expect(problemsOf({ source: { pools: [ethFeed] }, maxDifferencePercent: 1 })).toContain('tokens[1].price is')
  })
})
