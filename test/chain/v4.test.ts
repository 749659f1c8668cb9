import type { Decimal } from 'decimal.js'
import { type Address, type Hex, numberToHex, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { applyChain, chainJson, type ChainJson, factsOf, type MarkFact, optionsOf } from './support/reading.ts'
import { observeV4, type ReportedModification } from './support/v4-observer.ts'
import { coin, deployV4, type PoolKey, type V4, v4CallsOf } from './support/v4.ts'

/** Flags of a hook that is called at swaps: it can't change what positions pay. */
const swapFlags = 0x00c0

describeOnChain('positions of Uniswap v4', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let v4: V4
  let atV4: Awaited<ReturnType<typeof observeV4>>
  let vault: Operator
  let json: ChainJson
  let facts: readonly FactInput[]
  let inSteps: unknown
  let plain: PoolKey
  let ofCoin: PoolKey
  let hooked: PoolKey
  let pools: PoolKey[]
  /** From a block on the vault holds these. */
  const held: { readonly from: number; readonly ids: readonly bigint[] }[] = [{ from: 0, ids: [] }]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    v4 = await deployV4(chain, protocol)
    atV4 = await observeV4(chain, v4)
    const dollars = [protocol.usdc, 2_000_000_000n] as const
    plain = await v4.createPool([protocol.weth, 10n ** 18n], dollars)
    ofCoin = await v4.createPool([coin, 10n ** 18n], dollars, { fee: 3_000, tickSpacing: 60 })
    hooked = await v4.createPool([protocol.weth, 10n ** 18n], dollars, { hooks: await v4.createHook(swapFlags) })
    pools = [plain, ofCoin, hooked]
    vault = await openVault(chain, protocol, protocol.usdc, artifacts.coinVault)
    json = withV4(chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }]))
    await live()
    facts = await factsOf(json)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const withV4 = (base: ChainJson): ChainJson => ({
    ...base,
    markEveryBlocks: 3,
    otherPositionManagers: [v4.manager],
    tokens: [
      ...(base['tokens'] as object[]),
      { address: coin.address, symbol: 'ETH', price: { sameAs: protocol.weth.address } },
    ],
  })
  const marks = (): MarkFact[] => facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
  const changes = () => facts.flatMap((fact) => (fact.kind === 'event' && 'positionId' in fact ? [fact] : []))
  const idOf = (number: bigint): string => `${v4.manager}:${number}`

  const trade = () =>
    chain.block(
      ...pools.flatMap((key) => [
        v4.swap(key, protocol.usdc, usdc(90_000)),
        v4.swap(key, key === ofCoin ? coin : protocol.weth, weth(31)),
        v4.swap(key, protocol.usdc, usdc(1_234.567891)),
      ]),
      v4.donate(plain, usdc(1), usdc(1)),
    )

  async function holds(...ids: bigint[]): Promise<void> {
    held.push({ from: await chain.head(), ids })
  }

  function tickOf({ currency0 }: PoolKey, spacing: number): number {
    const raw = Math.log(currency0 === protocol.usdc.address ? 1e18 / 2_000e6 : 2_000e6 / 1e18) / Math.log(1.0001)
    return Math.round(raw / spacing) * spacing
  }

  /** The vault plants, harvests, increases, decreases and burns, alone and with trades before it in the block. */
  async function live(): Promise<void> {
    const [, , alice] = chain.accounts as [Address, Address, Address]
    const calls = v4CallsOf(v4.manager, vault.address)
    const database = await emptyDatabase()
    const range = (key: PoolKey, width: number): [number, number] => {
      const tick = tickOf(key, key.tickSpacing)
      return [tick - width, tick + width]
    }
    const funds = [calls.fund(protocol.usdc, usdc(20_000)), calls.fund(protocol.weth, weth(10))]
    await chain.request({ method: 'anvil_setBalance', params: [vault.address, `0x${weth(40).toString(16)}`] })
    await chain.block(vault.deposit(alice, usdc(200_000)), protocol.mint(vault.address, protocol.weth, weth(90)))
    const first = await v4.nextId()
    const [one, two, three, four] = [first, first + 1n, first + 2n, first + 3n]
    await chain.block(vault.run(...funds, calls.mint(plain, range(plain, 600), 10n ** 14n)))
    await holds(one)
    await trade()
    const [, payable] = calls.mint(ofCoin, range(ofCoin, 1_200), 2n * 10n ** 13n)
    await chain.block(
      vault.run(calls.fund(protocol.usdc, usdc(20_000))),
      vault.callOf(vault.owner, 'runWith', v4.manager, weth(15), payable),
    )
    await holds(one, two)
    await chain.block(vault.run(calls.collect(plain, one)))
    await trade()
    await chain.mine(4)
    await applyChain(database, json)
    await chain.block(vault.run(...funds, calls.mint(hooked, range(hooked, 400), 10n ** 13n)))
    await holds(one, two, three)
    await trade()
    await chain.block(
      v4.swap(plain, protocol.usdc, usdc(40_000)),
      vault.run(...funds, calls.increase(plain, one, 3n * 10n ** 13n)),
      v4.swap(plain, protocol.weth, weth(9)),
    )
    await chain.block(
      v4.swap(ofCoin, coin, weth(9)),
      vault.run(calls.decrease(ofCoin, two, 7n * 10n ** 12n + 1n)),
      v4.swap(ofCoin, protocol.usdc, usdc(9_000)),
      vault.run(calls.collect(hooked, three)),
    )
    // Between the first two nobody trades, before the third somebody does.
    await chain.block(
      v4.swap(plain, protocol.usdc, usdc(5_000)),
      vault.run(calls.collect(plain, one), calls.decrease(plain, one, 10n ** 12n)),
      v4.swap(plain, protocol.weth, weth(2)),
      vault.run(calls.collect(plain, one)),
    )
    await chain.mine(3)
    await applyChain(database, json)
    await chain.block(
      v4.swap(hooked, protocol.usdc, usdc(50_000)),
      vault.run(calls.burn(hooked, three), ...funds, calls.mint(plain, range(plain, 60), 10n ** 13n)),
    )
    await holds(one, two, four)
    await trade()
    await chain.block(vault.run(calls.burn(ofCoin, two)))
    await holds(one, four)
    // Nothing was earned since the block before.
    await chain.block(vault.run(calls.collect(plain, one)))
    await chain.block(vault.run(calls.collect(plain, one)))
    await chain.block(vault.run(calls.decrease(plain, one, await v4.liquidityOf(one))))
    await trade()
    await chain.block(vault.run(calls.burn(plain, one), calls.burn(plain, four)))
    await holds()
    await chain.mine(8)
    await applyChain(database, json)
    inSteps = await dumpReadModel(database)
  }

  /** Prices by symbol, that of the coin too. */
  async function pricesAt(block: number) {
    const prices = await observer.pricesAt(block)
    return { ...prices, ETH: prices['WETH'] as Decimal }
  }

  function tokensOf({ currency0, currency1 }: PoolKey): [TestToken, TestToken] {
    const all = [...protocol.tokens, coin]
    return [currency0, currency1].map((one) => all.find(({ address }) => address === one)) as [TestToken, TestToken]
  }

  const poolOf = (id: bigint): PoolKey => [plain, ofCoin, hooked, plain][Number(id) - 1] as PoolKey

  test('are worth what everything would pay, with pending fees, at every mark', async () => {
    const tokens = [...protocol.tokens, coin]
    let earning = 0
    const blocks = await blocksByTime()
    for (const { ts, valueUsd, positions } of marks()) {
      const block = blocks.get(ts) as number
      const ids = held.findLast(({ from }) => from <= block)?.ids ?? []
      const [paid, balances] = await atV4.takeAll(vault.address, ids, tokens, block)
      const prices = await pricesAt(block)
      const total = observer.worth(
        prices,
        tokens.map((token, index) => [token, balances[index] ?? 0n] as const),
      )
      expect([block, valueUsd]).toEqual([block, total.toFixed()])
      const open = ids.filter((_, index) => (paid[index]?.principal0 ?? 0n) + (paid[index]?.principal1 ?? 0n) > 0n)
      expect([block, positions.map(({ id }) => id)]).toEqual([block, open.map(idOf)])
      for (const [index, id] of ids.entries()) {
        if (!open.includes(id)) continue
        const [token0, token1] = tokensOf(poolOf(id))
        const { rewards0 = 0n, rewards1 = 0n } = paid[index] ?? {}
        const rewards = observer.worth(prices, [
          [token0, rewards0],
          [token1, rewards1],
        ])
        if (rewards.greaterThan(0)) earning++
        const marked = positions.find((position) => position.id === idOf(id))
        expect(marked?.pendingRewardsUsd).toBe(rewards.toFixed())
        expect(marked?.pool).toMatchObject({ venue: 'uniswap-v4', feeTier: poolOf(id).fee })
      }
    }
    expect(marks().length).toBeGreaterThan(15)
    expect(earning).toBeGreaterThan(15)
  })

  async function blocksByTime(): Promise<Map<number, number>> {
    const blocks = new Map<number, number>()
    for (let block = vault.firstBlock; block <= (await chain.head()); block++) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    return blocks
  }

  test('tell their changes, with the amounts that the PoolManager has answered', async () => {
    const rows = changes().map(({ type, positionId }) => [type, Number(positionId.split(':')[1])])
    expect(rows).toEqual([
      ['plant', 1],
      ['plant', 2],
      ['harvest', 1],
      ['plant', 3],
      ['rebalance', 1],
      ['rebalance', 2],
      ['harvest', 3],
      ['harvest', 1],
      ['rebalance', 1],
      ['harvest', 1],
      ['rebalance', 3],
      ['plant', 4],
      ['rebalance', 2],
      ['harvest', 1],
      ['rebalance', 1],
      ['exit', 4],
    ])
    const amounts: [string, string | undefined][] = []
    for (const event of changes()) {
      if (event.type === 'plant' || event.type === 'exit') continue
      const modification = (await atV4.modificationsIn(event.txHash as Hex)).find(
        ({ logIndex }) => logIndex === event.logIndex,
      ) as ReportedModification
      const { principal, fees, number } = modification
      const [moved0, moved1] = event.type === 'harvest' ? fees : principal
      const [token0, token1] = tokensOf(poolOf(number))
      const worth = observer.worth(await pricesAt(event.block), [
        [token0, moved0 < 0n ? -moved0 : moved0],
        [token1, moved1 < 0n ? -moved1 : moved1],
      ])
      const { amountUsd } = event as { amountUsd?: string }
      amounts.push([worth.toFixed(), amountUsd])
    }
    expect(amounts.filter(([, amount]) => amount === undefined)).toHaveLength(2)
    for (const [worth, amount] of amounts) if (amount !== undefined) expect(amount).toBe(worth)
    expect(amounts.every(([worth]) => Number(worth) > 0)).toBe(true)
  })

  test('are read the same from anywhere', async () => {
    const database = await emptyDatabase()
    await applyChain(database, json)
    expect(await dumpReadModel(database)).toEqual(inSteps)
  })

  const left = new Set(
    artifacts.v4PoolManager.abi.flatMap((one) =>
      one.type === 'event' && ['Swap', 'ModifyLiquidity'].includes(one.name) ? [toEventSelector(one)] : [],
    ),
  )

  test('are read the same from a node that leaves out trades', async () => {
    let leftOut = 0
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      const [{ address = '', blockHash = '' } = {}] = request.params as { address?: string; blockHash?: string }[]
      const isOfBlock = request.method === 'eth_getLogs' && blockHash !== '' && address === ''
      const logs = isOfBlock && 'result' in answer ? (answer.result as { topics: Hex[] }[]) : []
      const at = logs.findIndex(({ topics: [topic = '0x'] }) => left.has(topic))
      if (at < 0 || leftOut++ % 2 > 0) return answer
      return { result: logs.toSpliced(at, 1) }
    })
    const rpc = [{ url: proxy.url, requestsPerSecond: 10_000 }]
    expect(await factsOf({ ...json, rpc })).toEqual(facts)
    expect(leftOut).toBeGreaterThan(5)
    await proxy.close()
  })

  test('are read the same from a node that numbers the logs of each transaction anew', async () => {
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getLogs' || !('result' in answer)) return answer
      const logs = answer.result as { transactionHash: Hex; logIndex: Hex }[]
      const result = await Promise.all(
        logs.map(async (log) => {
          const { logs: ofTransaction } = await chain.client.getTransactionReceipt({ hash: log.transactionHash })
          return { ...log, logIndex: numberToHex(Number(log.logIndex) - (ofTransaction[0]?.logIndex ?? 0)) }
        }),
      )
      return { result }
    })
    const rpc = [{ url: proxy.url, requestsPerSecond: 10_000 }]
    const withoutNumbers = (lines: typeof facts) => lines.map((line) => ({ ...line, logIndex: 0 }))
    expect(withoutNumbers(await factsOf({ ...json, rpc }))).toEqual(withoutNumbers(facts))
    await proxy.close()
  })

  test('are checked before anything is stored', async () => {
    const [report] = await checkVaults(await connectChain(optionsOf(json), false))
    expect(report?.missing).toEqual([])
    expect(report?.adapter).toMatch(/, NFTs of Uniswap v4$/)
    expect(Object.fromEntries(report?.read ?? [])).toMatchObject({ positions: '0' })
  })
})
