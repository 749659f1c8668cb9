import { type Address, encodeFunctionData, formatUnits, type Hex, multicall3Abi, zeroAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import {
  type Call,
  callOf,
  describeOnChain,
  patienceMilliseconds,
  startChain,
  type TestChain,
} from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { callsOf, deploySlipstream } from './support/cl-venues.ts'
import { observe } from './support/observer.ts'
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, sorted, type TestToken } from './support/protocol.ts'
import { deployV4, v4CallsOf } from './support/v4.ts'
import { applyChain, chainJson, type ChainJson, linesOf, optionsOf, type ReaderMessage } from './support/reading.ts'

const maxAgeSeconds = 100

describeOnChain('a token without a price', () => {
  let chain: TestChain
  let protocol: Protocol
  let deployer: Address
  let alice: Address
  /** A token of the file, with a pool of USDC. */
  let gift: TestToken
  /** The pool that the file names for its price, which is never initialised. */
  let pricePool: Address
  let feed: Address
  let vault: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
    gift = {
      address: await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'GIFT', 18)),
      symbol: 'GIFT',
      decimals: 18,
    }
    await chain.block(
      protocol.mint(deployer, gift, 10n ** 30n),
      protocol.mint(protocol.multicall, gift, 10n ** 30n),
      ...[protocol.manager, protocol.router].map((spender) => protocol.approve(deployer, gift, spender)),
      protocol.approve(deployer, protocol.usdc, protocol.router),
    )
    await protocol.createPool([gift, weth(1)], [protocol.usdc, usdc(1)])
    const pair = [gift.address, protocol.usdc.address, 3_000] as const
    await chain.block(callOf(deployer, protocol.factory, artifacts.factory.abi, 'createPool', pair))
    pricePool = (await chain.client.readContract({
      address: protocol.factory,
      abi: artifacts.factory.abi,
      functionName: 'getPool',
      args: pair,
    })) as Address
    feed = await chain.deploy(deployer, artifacts.creationOf(artifacts.feed, 8))
  }, patienceMilliseconds)
  beforeEach(async () => {
    vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(100_000)), tellPrice())
  })
  afterAll(() => chain.stop())

  const tellPrice = (): Call => callOf(deployer, feed, artifacts.feed.abi, 'set', [10n ** 8n])
  const transfer = (units: bigint): Call =>
    callOf(deployer, gift.address, artifacts.token.abi, 'transfer', [vault.address, units])
  const range = (lower: number, upper: number): [number, number] => {
    const isDirect = gift.address.toLowerCase() < protocol.usdc.address.toLowerCase()
    // One GIFT is one USDC, of 12 decimals less.
    return isDirect ? [lower - 276_330, upper - 276_330] : [276_330 - upper, 276_330 - lower]
  }
  /** A position of both; below its price of USDC alone, above of GIFT alone. */
  const mintData = (to: Address, [lower, upper] = range(-1_000, 1_000)): Hex =>
    protocol.mintData(to, lower, upper, [
      [gift, weth(1_000)],
      [protocol.usdc, usdc(1_000)],
    ])
  const increaseData = (id: bigint): Hex => {
    const [[, amount0], [, amount1]] = sorted([
      [gift, weth(1)],
      [protocol.usdc, usdc(1)],
    ])
    return protocol.increaseData(id, amount0, amount1)
  }
  const allow = () =>
    [protocol.manager, protocol.router].map(
      (spender) => [gift.address, protocol.approve(vault.owner, gift, spender).data] as const,
    )
  const swapFor = (to: Address): Hex => protocol.swapData(to, protocol.usdc, gift, usdc(500))
  const idIn = async (...calls: Call[]): Promise<bigint> => {
    const [receipt] = await chain.block(...calls)
    const added =
      receipt && logsOf(receipt, vault.address, protocol.manager).find(({ name }) => name === 'IncreaseLiquidity')
    return added?.args['tokenId'] as bigint
  }

  const unpriced = (): unknown => [pricePool]
  const aging = (): unknown => ({ feed, maxAgeSeconds })
  function fileOf(price: unknown, more: ChainJson = {}): ChainJson {
    const json = chainJson(chain.url, protocol, [vault], { markEveryBlocks: 3, ...more })
    const tokens = [...(json['tokens'] as object[]), { address: gift.address, symbol: 'GIFT', price }]
    return { ...json, vaults: [{ address: vault.address, strategy: 'one', firstBlock: vault.firstBlock }], tokens }
  }

  async function read(json: ChainJson) {
    const messages: ReaderMessage[] = []
    const lines = await linesOf(json, messages).catch(() => [])
    const facts = lines.map((line) => JSON.parse(line) as FactInput)
    const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    const messagesOf = (level: string): string[] =>
      messages.filter((one) => one.level === level).map(({ message }) => message)
    return { facts, marks, errors: messagesOf('error'), warnings: messagesOf('warn') }
  }

  test('that other accounts send counts as nothing, and stops nothing', async () => {
    const observer = observe(chain, protocol)
    await chain.block(transfer(weth(7)))
    await chain.mine(3)
    await chain.block({ from: deployer, to: protocol.router, data: swapFor(vault.address) })
    await chain.mine(3)
    // A holder of shares sends some in the transaction of a withdrawal.
    const sharing = callOf(alice, vault.address, artifacts.vault.abi, 'deposit', [usdc(50), protocol.multicall])
    await chain.block(sharing)
    const calls = [
      [vault.address, artifacts.vault.abi, 'withdraw', [usdc(20), alice, protocol.multicall]],
      [gift.address, artifacts.token.abi, 'transfer', [vault.address, weth(3)]],
    ] as const
    const batch = calls.map(([target, abi, functionName, args]) => ({
      target,
      allowFailure: false,
      callData: encodeFunctionData({ abi, functionName, args: [...args] }),
    }))
    await chain.block(callOf(alice, protocol.multicall, multicall3Abi, 'aggregate3', [batch]))
    await chain.mine(3)
    const id = await idIn({ from: deployer, to: protocol.manager, data: mintData(vault.address) })
    const planted = await chain.head()
    await chain.mine(3)
    await chain.block({ from: deployer, to: protocol.manager, data: increaseData(id) })
    await chain.mine(9)
    const { facts, marks, errors, warnings } = await read(fileOf(unpriced()))
    expect(errors).toEqual([])
    expect(warnings).toContainEqual(
      expect.stringMatching(
        /^Tokens that others have sent to a vault count as nothing: GIFT has no price at block \d+: /,
      ),
    )
    const blocks = await blocksByTs()
    expect(marks.length).toBeGreaterThan(6)
    for (const { ts, valueUsd } of marks) {
      const block = blocks.get(ts) as number
      let units = await observer.balance(vault.address, protocol.usdc, block)
      if (block >= planted) {
        const { held } = await observer.positionAt(vault.address, { id }, block)
        units += held.find(([token]) => token === protocol.usdc)?.[1] ?? 0n
      }
      expect(valueUsd).toBe(formatUnits(units, 6))
    }
    const ledger = facts.flatMap((fact) => (fact.kind === 'event' ? [fact.type] : []))
    expect(ledger).toEqual(['deposit', 'deposit', 'withdraw', 'plant', 'rebalance'])
    const [report] = await checkVaults(await connectChain(optionsOf(fileOf(unpriced())), false))
    expect(report?.missing).toEqual([])
    expect(Object.fromEntries(report?.read ?? [])['sent by others']).toMatch(
      /^something that doesn't count: GIFT has no/,
    )
  })

  test('that other accounts send yields the same facts wherever reading resumes, also after many blocks', async () => {
    await chain.block(transfer(weth(7)))
    await chain.mine(200)
    const database = await emptyDatabase()
    const json = fileOf(unpriced(), { markEveryBlocks: 40 })
    await applyChain(database, json)
    await chain.block(transfer(weth(7)))
    await chain.mine(150)
    await applyChain(database, json)
    const inSteps = await dumpReadModel(database)
    await emptyDatabase()
    await applyChain(database, json)
    expect(await dumpReadModel(database)).toEqual(inSteps)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['it has swapped for it', () => chain.block(vault.run([protocol.router, swapFor(vault.address)]))],
    [
      'it has swapped for it long ago, and strangers send more',
      async () => {
        await chain.block(vault.run([protocol.router, swapFor(vault.address)]))
        await chain.mine(200)
        await chain.block(transfer(weth(7)))
      },
    ],
    [
      'it has made a position in it',
      async () => {
        await chain.block(transfer(weth(2_000)))
        await chain.mine(6)
        await chain.block(vault.run(...allow(), [protocol.manager, mintData(vault.address)]))
      },
    ],
  ])('sets a vault aside where %s', async (_name, acquire) => {
    const before = await chain.head()
    await acquire()
    await chain.mine(6)
    const { errors } = await read(fileOf(unpriced()))
    const block = Number(/^A vault is set aside: GIFT has no price at block (\d+): the pool/.exec(errors[0] ?? '')?.[1])
    // At the first mark from then on.
    expect(block).toBeGreaterThan(before)
    expect(block).toBeLessThanOrEqual(before + 9)
    expect(errors).toHaveLength(1)
  })

  test('sets a vault aside once the price moves one of its positions into the token, and once it withdraws that', async () => {
    const below = range(-600, -200)
    const id = await idIn(vault.run([protocol.manager, mintData(vault.address, below)]))
    await chain.mine(6)
    expect((await read(fileOf(unpriced()))).errors).toEqual([])
    // Trades move the price until the position is in the token alone.
    const selling = encodeFunctionData({
      abi: artifacts.router.abi,
      functionName: 'exactInputSingle',
      args: [sale(weth(1_000_000))],
    })
    await chain.block({ from: deployer, to: protocol.router, data: selling })
    const sold = await chain.head()
    await chain.block(tellPrice())
    const liquidity = (
      (await chain.client.readContract({
        address: protocol.manager,
        abi: artifacts.manager.abi,
        functionName: 'positions',
        args: [id],
      })) as readonly bigint[]
    )[7] as bigint
    await chain.mine(9)
    expect((await read(fileOf(unpriced()))).errors).toEqual([
      `A vault is set aside: GIFT has no price at block ${sold + ((3 - (sold % 3)) % 3)}: the pool ${pricePool} is not there, or not initialised`,
    ])
    // The withdrawn tokens count as acquired, too: marks wait where the price is refused.
    await chain.block(vault.run(...protocol.burnCalls(id, liquidity, vault.address)), tellPrice())
    const burned = await chain.head()
    await chain.mine(20)
    const { marks } = await read(fileOf(aging()))
    const newest = Math.max(...marks.map(({ ts }) => ts))
    const blocks = await blocksByTs()
    expect(blocks.get(newest)).toBeGreaterThanOrEqual(burned)
    expect(blocks.get(newest)).toBeLessThanOrEqual(burned + maxAgeSeconds / 12)
  })

  test('sets a vault aside as soon as a position of Uniswap v4 is in it, and once that is burned', async () => {
    const v4 = await deployV4(chain, { ...protocol, tokens: [...protocol.tokens, gift] })
    await chain.block(protocol.mint(chain.accounts[4] as Address, gift, 10n ** 30n))
    const key = await v4.createPool([gift, weth(1)], [protocol.usdc, usdc(1)])
    const own = v4CallsOf(v4.manager, vault.address)
    const id = await v4.nextId()
    await chain.block(
      vault.run(own.fund(protocol.usdc, usdc(100)), own.mint(key, range(-600, -200), 10n ** 15n)),
      tellPrice(),
    )
    await chain.mine(6)
    const managers = { otherPositionManagers: [v4.manager] }
    expect((await read(fileOf(unpriced(), managers))).errors).toEqual([])
    await chain.block(v4.swap(key, gift, weth(1_000_000)), tellPrice())
    await chain.mine(6)
    expect((await read(fileOf(unpriced(), managers))).errors).toEqual([
      expect.stringMatching(/^A vault is set aside: GIFT has no price at block \d+: /),
    ])
    await chain.block(vault.run(own.burn(key, id)), tellPrice())
    const burned = await chain.head()
    await chain.mine(20)
    const newest = (await blocksOf((await read(fileOf(aging(), managers))).marks)).at(-1)
    expect(newest).toBeGreaterThanOrEqual(burned)
    expect(newest).toBeLessThanOrEqual(burned + maxAgeSeconds / 12)
  })

  test('whose price is refused delays marks only of vaults that have acquired it', async () => {
    await chain.block(transfer(weth(7)), tellPrice())
    await chain.mine(20)
    const received = await read(fileOf(aging()))
    expect(received.errors).toEqual([])
    expect(received.warnings).toEqual([
      expect.stringMatching(/^Tokens that others have sent to a vault count as nothing: GIFT/),
    ])
    // It counts while it has a price.
    expect([...new Set(received.marks.map(({ valueUsd }) => valueUsd))].filter((value) => value !== '0')).toEqual([
      '100000',
      '100007',
    ])
    expect(received.marks.at(-1)?.valueUsd).toBe('100000')
    const delayed = (await blocksOf(received.marks)).at(-1)
    expect(delayed).toBeGreaterThan((await chain.head()) - 6)
    await chain.block(vault.run([protocol.router, swapFor(vault.address)]))
    const swapped = await chain.head()
    await chain.mine(12)
    const acquired = await read(fileOf(aging()))
    expect(acquired.warnings).toContainEqual(expect.stringMatching(/^Marks wait for a price: GIFT has no price/))
    const blocks = await blocksOf(acquired.marks)
    expect(blocks.at(-1)).toBeLessThan(swapped)
    expect(acquired.marks.slice(0, received.marks.length)).toEqual(received.marks)
  })

  test('in the native coin of the chain stops only vaults that have paid some', async () => {
    const coin = { address: zeroAddress, symbol: 'ETH', price: { sameAs: gift.address } }
    const json = fileOf(unpriced())
    const file = { ...json, tokens: [...(json['tokens'] as object[]), coin] }
    await chain.request({ method: 'anvil_setBalance', params: [vault.address, '0x1'] })
    await chain.block(vault.withdraw(alice, usdc(40)))
    await chain.mine(6)
    const received = await read(file)
    expect(received.errors).toEqual([])
    expect(received.marks.at(-1)?.valueUsd).toBe('99960')
    const swap = protocol.swapData(vault.address, protocol.usdc, protocol.weth, usdc(500))
    await chain.block(vault.run([protocol.router, swap]))
    const paid = await chain.head()
    await chain.mine(6)
    const { errors } = await read(file)
    expect(errors).toEqual([expect.stringMatching(/^A vault is set aside: ETH has no price at block \d+: /)])
    const block = Number(/block (\d+)/.exec(errors[0] ?? '')?.[1])
    expect(block - paid).toBeGreaterThanOrEqual(0)
    expect(block - paid).toBeLessThan(3)
  })

  test('that a gauge has paid counts as earned by the vault: its marks wait', async () => {
    const slipstream = await deploySlipstream(chain, protocol, gift)
    const calls = callsOf(protocol, slipstream, vault)
    await chain.block(protocol.mint(vault.address, protocol.weth, weth(40)))
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    const id = 2n
    await chain.block(
      vault.run(
        ...calls.allow(protocol.usdc, protocol.weth),
        calls.mint([tick - 600, tick + 600], usdc(20_000), weth(10)),
        ...calls.stake(slipstream, id),
      ),
      tellPrice(),
    )
    await chain.mine(3)
    // From then on nothing is pending: all of it was paid to the vault.
    await chain.block(
      callOf(deployer, slipstream.pool, artifacts.slipstreamPool.abi, 'setRewardRate', [0n]),
      vault.run(calls.atGauge(slipstream, 'getReward', id)),
      tellPrice(),
    )
    const claimed = await chain.head()
    await chain.mine(30)
    const json = fileOf(aging(), { otherPositionManagers: [slipstream.manager] })
    const { marks, errors } = await read(json)
    expect(errors).toEqual([])
    const newest = (await blocksOf(marks)).at(-1)
    expect(newest).toBeGreaterThanOrEqual(claimed)
    expect(newest).toBeLessThanOrEqual(claimed + maxAgeSeconds / 12)
    expect((await read(fileOf(unpriced(), { otherPositionManagers: [slipstream.manager] }))).errors[0]).toMatch(
      /^A vault is set aside: GIFT has no price/,
    )
  })

  function sale(units: bigint) {
    return {
      tokenIn: gift.address,
      tokenOut: protocol.usdc.address,
      fee: 500,
      recipient: deployer,
      deadline: 2n ** 40n,
      amountIn: units,
      amountOutMinimum: 0n,
      sqrtPriceLimitX96: 0n,
    }
  }

  async function blocksByTs(): Promise<Map<number, number>> {
    const blocks = new Map<number, number>()
    for (let block = await chain.head(); block >= vault.firstBlock; block--) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    return blocks
  }
  async function blocksOf(marks: readonly { readonly ts: number }[]): Promise<number[]> {
    const blocks = await blocksByTs()
    return marks.map(({ ts }) => blocks.get(ts) as number)
  }
})
