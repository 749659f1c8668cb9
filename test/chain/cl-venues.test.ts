import { Decimal } from 'decimal.js'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { callsOf, type ClVenue, deployPancake, deploySlipstream, pairOf } from './support/cl-venues.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { applyChain, chainJson, type ChainJson, factsOf, optionsOf, type MarkFact } from './support/reading.ts'

interface Paid {
  readonly rewards0: bigint
  readonly rewards1: bigint
  readonly emissions: bigint
}

describeOnChain('positions of PancakeSwap v3 and Slipstream', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let pancake: Awaited<ReturnType<typeof deployPancake>>
  let slipstream: Awaited<ReturnType<typeof deploySlipstream>>
  let aero: TestToken
  let vault: Operator
  let json: ChainJson
  let facts: readonly FactInput[]
  let inSteps: unknown
  let payoutCode: Hex
  /** First block with a changed fee. */
  let dearer: number
  /** Ids of the vault's positions. */
  const ids = { slipstream: [2n, 3n], pancake: [2n] }

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    const [deployer] = chain.accounts as [Address]
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'AERO', 18))
    aero = { address, symbol: 'AERO', decimals: 18 }
    pancake = await deployPancake(chain, protocol)
    slipstream = await deploySlipstream(chain, protocol, aero)
    vault = await openVault(chain, protocol, protocol.usdc)
    const helper = await chain.deploy(deployer, artifacts.creationOf(artifacts.clPayout))
    payoutCode = (await chain.client.getCode({ address: helper })) as Hex
    const base = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    json = {
      ...base,
      markEveryBlocks: 3,
      otherPositionManagers: [pancake.manager, slipstream.manager],
      tokens: [...(base['tokens'] as object[]), { address: aero.address, symbol: 'AERO', price: 'stable' }],
    }
    await live()
    facts = await factsOf(json)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const trade = () =>
    chain.block(
      ...[pancake, slipstream].flatMap((venue) => [
        venue.swap(protocol.usdc, usdc(90_000)),
        venue.swap(protocol.weth, weth(31)),
        venue.swap(protocol.usdc, usdc(1_234.567891)),
      ]),
    )

  async function live(): Promise<void> {
    const [, , alice] = chain.accounts as [Address, Address, Address]
    const database = await emptyDatabase()
    const tick = Math.round((await observer.tickOf(await chain.head())) / 10) * 10
    const [atPancake, atSlipstream] = [callsOf(protocol, pancake, vault), callsOf(protocol, slipstream, vault)]
    const [first, second] = ids.slipstream as [bigint, bigint]
    const [only] = ids.pancake as [bigint]
    const range = (width: number): [number, number] => [tick - width, tick + width]
    await chain.block(vault.deposit(alice, usdc(90_000)), protocol.mint(vault.address, protocol.weth, weth(40)))
    await chain.block(
      vault.run(
        ...atPancake.allow(protocol.usdc, protocol.weth),
        ...atSlipstream.allow(protocol.usdc, protocol.weth),
        atSlipstream.mint(range(600), usdc(20_000), weth(10)),
        atSlipstream.mint(range(200), usdc(20_000), weth(10)),
        atPancake.mint(range(400), usdc(20_000), weth(10)),
      ),
    )
    await trade()
    await chain.block(vault.run(...atSlipstream.stake(slipstream, first)))
    await trade()
    await chain.mine(4)
    await applyChain(database, json)
    const part = (await atSlipstream.liquidityOf(chain, first)) / 3n
    await chain.block(vault.run(atSlipstream.atGauge(slipstream, 'decreaseStakedLiquidity', first, part)))
    await chain.block(slipstream.setFee(700))
    dearer = await chain.head()
    await trade()
    await chain.block(vault.run(...atSlipstream.stake(slipstream, second), atPancake.collect(only)))
    await chain.mine(3)
    await applyChain(database, json)
    await chain.block(vault.run(atSlipstream.atGauge(slipstream, 'getReward', first)))
    await trade()
    await chain.block(vault.run(atSlipstream.atGauge(slipstream, 'withdraw', second)))
    await trade()
    await chain.mine(3)
    await applyChain(database, json)
    await chain.block(
      vault.run(
        atSlipstream.atGauge(slipstream, 'withdraw', first),
        atSlipstream.decrease(first, await atSlipstream.liquidityOf(chain, first)),
        atSlipstream.collect(first),
        atPancake.decrease(only, (await atPancake.liquidityOf(chain, only)) / 2n),
        atPancake.collect(only),
      ),
    )
    await trade()
    await chain.mine(8)
    await applyChain(database, json)
    inSteps = await dumpReadModel(database)
  }

  /** Returns the amounts that the vault would have after the withdrawal of all positions, and the rewards among them. */
  async function takeAll(
    { manager }: ClVenue,
    numbers: readonly bigint[],
    tokens: readonly TestToken[],
    block: number,
  ) {
    const { abi } = artifacts.clPayout
    const { data = '0x' } = await chain.client.call({
      to: vault.address,
      data: encodeFunctionData({
        abi,
        functionName: 'takeAll',
        args: [manager, numbers, tokens.map(({ address }) => address)],
      }),
      stateOverride: [{ address: vault.address, code: payoutCode }],
      blockNumber: BigInt(block),
    })
    return decodeFunctionResult({ abi, functionName: 'takeAll', data }) as readonly [readonly Paid[], readonly bigint[]]
  }

  const marks = (): MarkFact[] => facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))

  test('are worth what a full withdrawal would pay, with pending emissions, at every mark', async () => {
    const blocks = new Map<number, number>()
    for (let block = vault.firstBlock; block <= (await chain.head()); block++) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    const tokens = [protocol.usdc, protocol.weth, aero]
    const { tokens: pair } = pairOf(protocol, 0n, 0n)
    let emitted = 0
    for (const { ts, valueUsd, positions } of marks()) {
      const block = blocks.get(ts) as number
      const prices = { ...(await observer.pricesAt(block)), AERO: new Decimal(1) }
      const there = positions.length > 0
      const [ofSlipstream, atSlipstream] = await takeAll(slipstream, there ? ids.slipstream : [], tokens, block)
      const [ofPancake, atPancake] = await takeAll(pancake, there ? ids.pancake : [], tokens, block)
      const [, idle] = await takeAll(pancake, [], tokens, block)
      const total = tokens.map((token, index) => {
        const units = (atSlipstream[index] ?? 0n) + (atPancake[index] ?? 0n) - (idle[index] ?? 0n)
        return [token, units] as const
      })
      expect([block, valueUsd]).toEqual([block, observer.worth(prices, total).toFixed()])
      const rewards = ({ rewards0, rewards1, emissions }: Paid): string =>
        observer
          .worth(prices, [
            [pair[0], rewards0],
            [pair[1], rewards1],
            [aero, emissions],
          ])
          .toFixed()
      const expected = new Map<string, string>([
        ...ofSlipstream.map(
          (paid, index) => [`${slipstream.manager}:${ids.slipstream[index]}`, rewards(paid)] as const,
        ),
        ...ofPancake.map((paid, index) => [`${pancake.manager}:${ids.pancake[index]}`, rewards(paid)] as const),
      ])
      emitted += ofSlipstream.filter(({ emissions }) => emissions > 0n).length
      const fee = block < dearer ? 500 : 700
      for (const { id, pool, pendingRewardsUsd } of positions) {
        const isPancake = id.startsWith(pancake.manager)
        expect([id, pendingRewardsUsd]).toEqual([id, expected.get(id)])
        expect(pool).toMatchObject(
          isPancake ? { venue: 'pancakeswap-v3', feeTier: 500 } : { venue: 'slipstream', feeTier: fee },
        )
      }
    }
    expect(marks().length).toBeGreaterThan(15)
    expect(emitted).toBeGreaterThan(4)
    expect(marks().at(-1)?.positions).toHaveLength(2)
  })

  test('have events for their changes, also while a gauge holds them', () => {
    const [first] = ids.slipstream as [bigint]
    const types = facts.flatMap((fact) =>
      fact.kind === 'event' && 'positionId' in fact && fact.positionId === `${slipstream.manager}:${first}`
        ? [fact.type]
        : [],
    )
    expect(types).toEqual(['plant', 'harvest', 'rebalance', 'rebalance'])
  })

  test('have the same facts wherever reading resumes, also where a gauge holds them', async () => {
    const database = await emptyDatabase()
    await applyChain(database, json)
    expect(await dumpReadModel(database)).toEqual(inSteps)
  })

  test('are checked before anything is stored', async () => {
    const [report] = await checkVaults(await connectChain(optionsOf(json), false))
    expect(report?.missing).toEqual([])
    expect(report?.adapter).toBe('ERC-4626, NFTs of Uniswap v3 or PancakeSwap v3, NFTs of Slipstream')
    expect(Object.fromEntries(report?.read ?? [])).toMatchObject({ positions: '3' })
  })
})
