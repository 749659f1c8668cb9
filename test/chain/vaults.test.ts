import type { Address, TransactionReceipt } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Decimal } from '../../src/domain/decimal.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import { keepDiary } from './support/diary.ts'
import { observe } from './support/observer.ts'
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { applyChain, chainJson, type ChainJson } from './support/reading.ts'

const markEveryBlocks = 7

describeOnChain('two vaults on a chain', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let database: TestDatabase
  let gateway: TestGateway
  let json: ChainJson
  /** A USDC vault with every kind of event, and a WETH vault with a changing price. */
  let stable: Operator
  let ether: Operator
  let stableDiary: ReturnType<typeof keepDiary>
  let etherDiary: ReturnType<typeof keepDiary>
  let alice: Address
  let bob: Address
  /** The positions of the first vault: around the price, above it, and where the first one went. */
  const around = 3n
  const above = 4n
  const moved = 5n
  let tick: number

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    ;[, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    stable = await openVault(chain, protocol, protocol.usdc)
    ether = await openVault(chain, protocol, protocol.weth)
    stableDiary = keepDiary(chain, protocol, observer, stable)
    etherDiary = keepDiary(chain, protocol, observer, ether)
    json = chainJson(
      chain.url,
      protocol,
      [stable, ether].map(({ address, firstBlock }) => ({ address, firstBlock })),
      {
        markEveryBlocks,
      },
    )
    database = await emptyDatabase()
    gateway = gatewayOn(database)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const only = ([receipt]: readonly TransactionReceipt[]): TransactionReceipt => receipt as TransactionReceipt
  const argOf = (receipt: TransactionReceipt, name: string, id: bigint, key: string): bigint =>
    logsOf(receipt, stable.address, protocol.manager).find((log) => log.name === name && log.args['tokenId'] === id)
      ?.args[key] as bigint
  /** Amounts of a log of the position manager, in the order of the pool's tokens. */
  const amountsOf = (receipt: TransactionReceipt, name: string, id: bigint) => {
    const [token0, token1] = [protocol.usdc, protocol.weth].sort((a, b) =>
      a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
    )
    return [
      [token0 as typeof protocol.usdc, argOf(receipt, name, id, 'amount0')],
      [token1 as typeof protocol.usdc, argOf(receipt, name, id, 'amount1')],
    ] as const
  }
  const trade = (): Promise<TransactionReceipt[]> =>
    chain.block(
      protocol.swap(protocol.usdc, protocol.weth, usdc(90_000)),
      protocol.swap(protocol.weth, protocol.usdc, weth(31)),
      protocol.swap(protocol.usdc, protocol.weth, usdc(1_234.567891)),
    )

  /** Reads up to the final block, and compares every value of both vaults with the contracts. */
  async function expectAllFigures(): Promise<void> {
    await chain.mine(3)
    const final = (await chain.head()) - 2
    await applyChain(database, json)
    for (const [vault, diary] of [
      [stable, stableDiary],
      [ether, etherDiary],
    ] as const) {
      expect(await answer(vault, 'events?limit=1000')).toEqual(newestFirst(diary.rows))
      await expectEquity(vault, diary, final - 1)
      await expectSnapshot(vault, diary, final - 1)
    }
  }

  async function answer(vault: Operator, path: string): Promise<unknown> {
    return (await gateway.get(`/vault/${vault.address}/${path}`)).json()
  }

  /** Blocks in which something happened to the vault, and every so many. */
  function markedBlocks({ firstBlock }: Operator, { rows }: typeof stableDiary, last: number): number[] {
    const turns = Array.from({ length: last + 1 }, (_, block) => block).filter((block) => block % markEveryBlocks === 0)
    return [...new Set([...rows.map(({ block }) => block), ...turns])]
      .filter((block) => block >= firstBlock && block <= last)
      .sort((a, b) => a - b)
  }

  async function expectEquity(vault: Operator, diary: typeof stableDiary, last: number): Promise<void> {
    const expected = []
    for (const block of markedBlocks(vault, diary, last)) {
      const { capitalIn, capitalOut } = await diary.capitalAt(block)
      expected.push({
        ts: await tsOf(block),
        valueUsd: (await diary.valueAt(block)).toNumber(),
        capitalInUsd: capitalIn.toNumber(),
        capitalOutUsd: capitalOut.toNumber(),
      })
    }
    expect(await answer(vault, 'equity?points=2000')).toEqual(expected)
  }

  async function expectSnapshot(vault: Operator, diary: typeof stableDiary, last: number): Promise<void> {
    const block = markedBlocks(vault, diary, last).at(-1) as number
    const value = await diary.valueAt(block)
    const { capitalIn, capitalOut, market } = await diary.capitalAt(block)
    const net = value.plus(capitalOut).minus(capitalIn)
    const positions = []
    for (const known of diary.positionsAt(block)) {
      const position = await observer.positionAt(vault.address, known, block)
      const current = await observer.tickOf(block)
      const prices = await observer.pricesAt(block)
      const [lower, upper] = position.ticks.map((tick) => observer.priceAtTick(tick).toNumber()).sort((a, b) => a - b)
      expect(position.pair.map(({ symbol }) => symbol).sort()).toEqual(['USDC', 'WETH'])
      positions.push({
        id: String(known.id),
        pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: position.feeTier },
        range: {
          lower: expect.closeTo(lower as number, 9) as number,
          upper: expect.closeTo(upper as number, 9) as number,
          current: prices['WETH']?.toNumber(),
        },
        inRange: position.ticks[0] <= current && current < position.ticks[1],
        pendingRewardsUsd: observer.worth(prices, position.rewards).toNumber(),
      })
    }
    const { status, suspension, ...snapshot } = (await answer(vault, 'snapshot')) as Record<string, unknown>
    expect(suspension === null).toBe(status !== 'suspended')
    expect(snapshot).toEqual({
      vault: vault.address,
      owner: vault.owner,
      strategy: 'one',
      valueUsd: value.toNumber(),
      capitalInUsd: capitalIn.toNumber(),
      capitalOutUsd: capitalOut.toNumber(),
      netUsd: net.toNumber(),
      marketDeltaUsd: market.toNumber(),
      strategyDeltaUsd: net.minus(market).toNumber(),
      updatedAt: await tsOf(block),
      positions,
      // A standard vault tells no fees.
      fees: {
        contributedUsd: capitalIn.toNumber(),
        withdrawnUsd: capitalOut.toNumber(),
        taxedUsd: 0,
        highWaterUsd: await greatestGain(vault),
      },
    })
  }

  async function greatestGain(vault: Operator): Promise<number> {
    type Point = Record<'valueUsd' | 'capitalInUsd' | 'capitalOutUsd', number>
    const points = (await answer(vault, 'equity?points=2000')) as Point[]
    const gains = points.map(({ valueUsd, capitalInUsd, capitalOutUsd }) =>
      new Decimal(valueUsd).plus(capitalOutUsd).minus(capitalInUsd),
    )
    return Math.max(0, ...gains.map((gain) => gain.toNumber()))
  }

  async function tsOf(block: number): Promise<number> {
    return Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp)
  }

  const newestFirst = (rows: typeof stableDiary.rows) =>
    rows.toSorted((a, b) => b.block - a.block || b.logIndex - a.logIndex)
  const status = async (vault: Operator): Promise<unknown> =>
    ((await answer(vault, 'snapshot')) as { status: unknown }).status

  test('are idle at first', async () => {
    await chain.mine(markEveryBlocks)
    await expectAllFigures()
    expect(await status(stable)).toBe('idle')
  })

  test('applyLogs deposits of several depositors, in one block too', async () => {
    const [first, other] = (await chain.block(stable.deposit(alice, usdc(10_000)), ether.deposit(bob, weth(3.25)))) as [
      TransactionReceipt,
      TransactionReceipt,
    ]
    await stableDiary.deposited(first)
    await etherDiary.deposited(other)
    await trade()
    await stableDiary.deposited(only(await chain.block(stable.deposit(bob, usdc(2_500.123456)))))
    await expectAllFigures()
    expect(await status(stable)).toBe('planting')
  })

  test('plant positions, in range and out of it', async () => {
    const { manager, router } = protocol
    tick = Math.floor((await observer.tickOf(await chain.head())) / 10) * 10
    const planted = only(
      await chain.block(
        stable.run(
          [router, protocol.swapData(stable.address, protocol.usdc, protocol.weth, usdc(5_000))],
          [
            manager,
            protocol.mintData(stable.address, tick - 600, tick + 600, [
              [protocol.usdc, usdc(4_000)],
              [protocol.weth, weth(2)],
            ]),
          ],
          [
            manager,
            protocol.mintData(stable.address, tick + 1_000, tick + 1_500, [
              [protocol.usdc, usdc(0.5)],
              [protocol.weth, weth(0.4)],
            ]),
          ],
        ),
      ),
    )
    await stableDiary.add(planted, 'IncreaseLiquidity', 'plant', { id: around })
    await stableDiary.add(planted, 'IncreaseLiquidity', 'plant', { id: above })
    stableDiary.holds(planted.blockNumber, { id: around }, { id: above })
    await expectAllFigures()
    expect(await status(stable)).toBe('attention')
  })

  test('earn fees as others trade', async () => {
    for (let times = 0; times < 4; times++) await trade()
    await chain.mine(markEveryBlocks)
    await expectAllFigures()
    const { positions } = (await answer(stable, 'snapshot')) as { positions: { pendingRewardsUsd: number }[] }
    expect(positions[0]?.pendingRewardsUsd).toBeGreaterThan(1)
  })

  test('harvest', async () => {
    const harvest = only(
      await chain.block(stable.run([protocol.manager, protocol.collectData(around, stable.address)])),
    )
    await stableDiary.add(harvest, 'Collect', 'harvest', { id: around, amounts: amountsOf(harvest, 'Collect', around) })
    await expectAllFigures()
  })

  test('have freed liquidity that is no reward until it is collected, and none then', async () => {
    await trade()
    const position = await observer.positionAt(stable.address, { id: around }, await chain.head())
    const decrease = only(
      await chain.block(stable.run([protocol.manager, protocol.decreaseData(around, position.liquidity / 3n)])),
    )
    const [freed0, freed1] = amountsOf(decrease, 'DecreaseLiquidity', around)
    await stableDiary.add(decrease, 'DecreaseLiquidity', 'rebalance', { id: around, amounts: [freed0, freed1] })
    stableDiary.holds(decrease.blockNumber, { id: around, freed: [freed0[1], freed1[1]] }, { id: above })
    await trade()
    await chain.mine(markEveryBlocks)
    await expectAllFigures()

    const most = 5_000n
    const part = only(
      await chain.block(stable.run([protocol.manager, protocol.collectData(around, stable.address, most)])),
    )
    stableDiary.holds(part.blockNumber, { id: around, freed: [freed0[1] - most, freed1[1] - most] }, { id: above })
    await chain.mine(markEveryBlocks)
    await expectAllFigures()

    const rest = only(await chain.block(stable.run([protocol.manager, protocol.collectData(around, stable.address)])))
    const [all0, all1] = amountsOf(rest, 'Collect', around)
    await stableDiary.add(rest, 'Collect', 'harvest', {
      id: around,
      amounts: [
        [all0[0], all0[1] - freed0[1] + most],
        [all1[0], all1[1] - freed1[1] + most],
      ],
    })
    stableDiary.holds(rest.blockNumber, { id: around }, { id: above })
    await expectAllFigures()
  })

  test('move a position in one transaction, which is no exit', async () => {
    await trade()
    const { manager } = protocol
    const { liquidity } = await observer.positionAt(stable.address, { id: around }, await chain.head())
    const receipt = only(
      await chain.block(
        stable.run(
          [manager, protocol.decreaseData(around, liquidity)],
          [manager, protocol.collectData(around, stable.address)],
          [
            manager,
            protocol.mintData(stable.address, tick - 300, tick + 300, [
              [protocol.usdc, usdc(2_000)],
              [protocol.weth, weth(0.7)],
            ]),
          ],
        ),
      ),
    )
    const out = amountsOf(receipt, 'DecreaseLiquidity', around)
    const [all0, all1] = amountsOf(receipt, 'Collect', around)
    await stableDiary.add(receipt, 'DecreaseLiquidity', 'rebalance', { id: around, amounts: out })
    await stableDiary.add(receipt, 'Collect', 'harvest', {
      id: around,
      amounts: [
        [all0[0], all0[1] - out[0][1]],
        [all1[0], all1[1] - out[1][1]],
      ],
    })
    await stableDiary.add(receipt, 'IncreaseLiquidity', 'plant', { id: moved })
    stableDiary.holds(receipt.blockNumber, { id: above }, { id: moved })
    const more = only(await chain.block(stable.run([manager, protocol.increaseData(moved, 10n ** 7n, 10n ** 16n)])))
    await stableDiary.add(more, 'IncreaseLiquidity', 'rebalance', {
      id: moved,
      amounts: amountsOf(more, 'IncreaseLiquidity', moved),
    })
    await expectAllFigures()
  })

  test('are suspended, and let withdraw all the same', async () => {
    const paused = only(await chain.block(stable.pause()))
    await stableDiary.add(paused, 'Paused', 'suspend', { reason: `Paused by ${stable.owner}` })
    const receipt = only(await chain.block(stable.withdraw(alice, usdc(750.5))))
    await stableDiary.withdrawn(receipt)
    await expectAllFigures()
    expect(await answer(stable, 'snapshot')).toMatchObject({
      status: 'suspended',
      suspension: {
        reason: `Paused by ${stable.owner}`,
        since: await tsOf(Number(paused.blockNumber)),
        exitsAvailable: true,
      },
    })
    await stableDiary.add(only(await chain.block(stable.unpause())), 'Unpaused', 'resume')
    await etherDiary.withdrawn(only(await chain.block(ether.withdraw(bob, weth(1.1)))))
    await trade()
    await chain.mine(markEveryBlocks)
    await expectAllFigures()
    expect(await status(stable)).not.toBe('suspended')
  })

  test('exit in full, and are idle again', async () => {
    const { manager, router } = protocol
    const head = await chain.head()
    const liquidityOf = async (id: bigint) => (await observer.positionAt(stable.address, { id }, head)).liquidity
    const receipt = only(
      await chain.block(
        stable.run(
          [manager, protocol.decreaseData(above, await liquidityOf(above))],
          [manager, protocol.decreaseData(moved, await liquidityOf(moved))],
          [manager, protocol.collectData(above, stable.address)],
          [manager, protocol.collectData(moved, stable.address)],
        ),
      ),
    )
    for (const id of [above, moved]) {
      await stableDiary.add(receipt, 'DecreaseLiquidity', 'exit', { id })
      const out = amountsOf(receipt, 'DecreaseLiquidity', id)
      const amounts = amountsOf(receipt, 'Collect', id).map(
        ([token, units], side) => [token, units - (out[side]?.[1] ?? 0n)] as const,
      )
      if (amounts.every(([, units]) => units === 0n)) continue
      await stableDiary.add(receipt, 'Collect', 'harvest', { id, amounts })
    }
    stableDiary.holds(receipt.blockNumber)
    await expectAllFigures()
    expect(await status(stable)).toBe('exiting')

    const left = await observer.balance(stable.address, protocol.weth, await chain.head())
    await chain.block(stable.run([router, protocol.swapData(stable.address, protocol.weth, protocol.usdc, left)]))
    for (const account of [alice, bob]) {
      await stableDiary.withdrawn(only(await chain.block(stable.redeem(account, await stable.sharesOf(account)))))
    }
    await expectAllFigures()
    const { valueUsd } = (await answer(stable, 'snapshot')) as { valueUsd: number }
    expect(valueUsd).toBeLessThanOrEqual(0.000002)
  })
})
