import { type Address, getContractAddress, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import { initialPositions } from '../../src/chain/positions/initial-positions.ts'
import { findLogged } from '../../src/chain/positions/logged-positions.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import type { Venue } from '../../src/chain/venues/venue.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { type Call, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { applyChain, chainJson, type ChainJson, factsOf, type MarkFact, optionsOf } from './support/reading.ts'
import { observeV4 } from './support/v4-observer.ts'
import { coin, deployV4, type PoolKey, type V4, v4CallsOf } from './support/v4.ts'

/** Flag of a hook that is called after liquidity was removed. */
const removalFlag = 0x0100

describeOnChain('positions of Uniswap v4 that come to a vault', () => {
  let chain: TestChain
  let protocol: Protocol
  let v4: V4
  let stranger: Address
  let alice: Address
  let plain: PoolKey
  let ofCoin: PoolKey

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    v4 = await deployV4(chain, protocol)
    ;[stranger, , alice] = chain.accounts as [Address, Address, Address]
    plain = await v4.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n])
    ofCoin = await v4.createPool([coin, 10n ** 18n], [protocol.usdc, 2_000_000_000n])
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (vault: Pick<Operator, 'address' | 'firstBlock'>, more: ChainJson = {}): ChainJson =>
    chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], {
      otherPositionManagers: [v4.manager],
      ...more,
    })
  const trade = (key = plain) =>
    chain.block(
      v4.swap(key, protocol.usdc, usdc(70_000)),
      v4.swap(key, key === ofCoin ? coin : protocol.weth, weth(31)),
    )
  const range = (key: PoolKey): readonly [number, number] => {
    const isInverse = key.currency0 === protocol.usdc.address
    const tick = Math.round(Math.log(isInverse ? 1e18 / 2_000e6 : 2_000e6 / 1e18) / Math.log(1.0001) / 60) * 60
    return [tick - 1_200, tick + 1_200]
  }
  const calls = (manager = v4.manager) => v4CallsOf(manager, stranger)
  const ofStranger = ([to, data]: readonly [Address, Hex], value?: bigint): Call => ({
    from: stranger,
    to,
    data,
    ...(value !== undefined && { value }),
  })

  async function funded(): Promise<Operator> {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.coinVault)
    await chain.block(vault.deposit(alice, usdc(20_000)), protocol.mint(vault.address, protocol.weth, weth(40)))
    return vault
  }

  /** Mints a position of the stranger to an account; its id. */
  async function minted(
    key: PoolKey,
    to: Address,
    { manager = v4.manager, tokens = [protocol.usdc, protocol.weth] as TestToken[] } = {},
  ): Promise<bigint> {
    const id = await v4.nextId(manager)
    const at = calls(manager)
    await chain.block(
      ...tokens.map((token) => ofStranger(at.fund(token, token.decimals === 6 ? usdc(90_000) : weth(90)))),
      ofStranger(at.mint(key, range(key), 10n ** 13n, to), key === ofCoin ? weth(50) : undefined),
    )
    return id
  }

  const marksOf = (facts: readonly FactInput[]): MarkFact[] =>
    facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
  const eventsOf = (facts: readonly FactInput[]) =>
    facts.flatMap((fact) => (fact.kind === 'event' && fact.type !== 'deposit' ? [fact] : []))

  async function blockAt(ts: number): Promise<number> {
    for (let number = await chain.head(); number > 0; number--) {
      const { timestamp } = await chain.client.getBlock({ blockNumber: BigInt(number) })
      if (Number(timestamp) === ts) return number
    }
    throw new Error(`No block is of ${ts}`)
  }

  /** Requires that each mark from some block on is worth what the contracts would pay. */
  async function expectPaid(
    vault: Operator,
    facts: readonly FactInput[],
    ids: readonly bigint[],
    manager = v4.manager,
  ) {
    const [atV4, observer] = [await observeV4(chain, v4), observe(chain, protocol)]
    const { tokens } = protocol
    let held = 0
    for (const { ts, valueUsd, positions } of marksOf(facts)) {
      if (positions.length < ids.length) continue
      held++
      const block = await blockAt(ts)
      const [paid, balances] = await atV4.takeAll(vault.address, ids, tokens, block, manager)
      const prices = await observer.pricesAt(block)
      const total = tokens.map((token, index) => [token, balances[index] ?? 0n] as const)
      expect([block, valueUsd]).toEqual([block, observer.worth(prices, total).toFixed()])
      const [token0, token1] = [plain.currency0, plain.currency1].map((one) =>
        tokens.find(({ address }) => address === one),
      ) as [TestToken, TestToken]
      expect(positions.map(({ pendingRewardsUsd }) => pendingRewardsUsd)).toEqual(
        paid.map(({ rewards0, rewards1 }) =>
          observer
            .worth(prices, [
              [token0, rewards0],
              [token1, rewards1],
            ])
            .toFixed(),
        ),
      )
    }
    expect(held).toBeGreaterThan(2)
  }

  /** Reading resumes at every seventh place where it can, which is another one in each test. */
  async function expectSameFromAnywhere(json: ChainJson): Promise<void> {
    const database = await emptyDatabase()
    await applyChain(database, json)
    const whole = await dumpReadModel(database)
    const { facts, positionAfter } = chainFeed(optionsOf(json), null)
    const all: FactInput[] = []
    const positions = new Map<number, ReturnType<typeof positionAfter>>()
    for await (const some of facts) {
      all.push(...some)
      const position = positionAfter({ number: all.length })
      positions.set(position.line, position)
    }
    for (const [line, position] of [...positions].filter((_, index) => (index + all.length) % 7 === 0)) {
      const rest: FactInput[] = []
      for await (const some of chainFeed(optionsOf(json), position).facts) rest.push(...some)
      expect(rest, `from line ${line}`).toEqual(all.slice(line))
    }
    expect(whole).toBeDefined()
  }

  test('with uncollected fees count with these as rewards, whoever has earned them', async () => {
    const vault = await funded()
    const own = v4CallsOf(v4.manager, vault.address)
    const id = await minted(plain, stranger)
    await trade()
    await chain.mine(8)
    // Something is withdrawn in the block of the arrival, before it.
    await chain.block(
      ofStranger(calls().decrease(plain, id, 10n ** 12n)),
      ofStranger(calls().transfer(vault.address, id)),
    )
    await trade()
    await chain.mine(25)
    const [collect] = await chain.block(vault.run(own.collect(plain, id)))
    await chain.mine(70)
    const facts = await factsOf(jsonOf(vault))
    await expectPaid(vault, facts, [id])
    const [event, ...more] = eventsOf(facts)
    expect([event?.type, event?.txHash, more]).toEqual(['harvest', collect?.transactionHash, []])
    const atV4 = await observeV4(chain, v4)
    const [collected] = await atV4.modificationsIn(collect?.transactionHash as Hex)
    expect(collected?.fees.every((fee) => fee > 0n)).toBe(true)
    await expectSameFromAnywhere(jsonOf(vault))
  })

  test('in unknown tokens change nothing, nor does the coin where it is none of the tokens', async () => {
    const vault = await funded()
    const own = v4CallsOf(v4.manager, vault.address)
    const address = await chain.deploy(stranger, artifacts.creationOf(artifacts.token, 'JUNK', 18))
    const junk = { address, symbol: 'JUNK', decimals: 18 }
    await chain.block(protocol.mint(stranger, junk, 10n ** 30n), protocol.approve(stranger, junk, v4.liquidity))
    const ofJunk = await v4.createPool([junk, 10n ** 18n], [protocol.usdc, 2_000_000_000n])
    const stray = await minted(ofJunk, vault.address, { tokens: [protocol.usdc, junk] })
    const inCoin = await minted(ofCoin, stranger, { tokens: [protocol.usdc] })
    await chain.block(ofStranger(calls().transfer(vault.address, inCoin)))
    await trade(ofCoin)
    await chain.mine(12)
    await chain.block(vault.run(own.burn(ofCoin, inCoin)))
    await chain.mine(70)
    await chain.block(vault.run(own.collect(ofJunk, stray), own.transfer(stranger, stray)))
    await chain.mine(12)
    const facts = await factsOf(jsonOf(vault))
    expect(eventsOf(facts)).toEqual([])
    expect(marksOf(facts).flatMap(({ positions }) => positions)).toEqual([])
    expect(marksOf(facts).length).toBeGreaterThan(8)
    await expectSameFromAnywhere(jsonOf(vault))
  })

  test('in a pool whose hook can change what they pay change nothing, until the vault itself changes one', async () => {
    const vault = await funded()
    const own = v4CallsOf(v4.manager, vault.address)
    const hooks = await v4.createHook(removalFlag)
    const refused = await v4.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n], { hooks })
    const id = await minted(refused, vault.address)
    const sent = await minted(refused, stranger)
    await chain.block(ofStranger(calls().transfer(vault.address, sent)))
    const planted = await v4.nextId()
    await chain.block(
      vault.run(
        own.fund(protocol.usdc, usdc(9_000)),
        own.fund(protocol.weth, weth(9)),
        own.mint(plain, range(plain), 10n ** 12n),
      ),
    )
    await chain.mine(80)
    const before = await factsOf(jsonOf(vault))
    expect(eventsOf(before).map(({ type }) => type)).toEqual(['plant'])
    await expectPaid(vault, before, [planted])
    await expectSameFromAnywhere(jsonOf(vault))
    const [report] = await checkVaults(await connectChain(optionsOf(jsonOf(vault)), false))
    expect(report?.missing).toEqual([])
    expect(Object.fromEntries(report?.read ?? [])).toMatchObject({
      positions: "1, and 2 of others or in pools whose hooks can change what they pay, which don't count",
    })

    await chain.block(vault.run(own.collect(refused, id)))
    const changed = await chain.head()
    await chain.mine(70)
    const reason = `${vault.address} holds position ${v4.manager}:${id} in a pool whose hook ${hooks} can change what it pays, at block `
    await expect(factsOf(jsonOf(vault))).rejects.toThrow(`${reason}${changed}`)
    const [other] = await checkVaults(await connectChain(optionsOf(jsonOf(vault)), false))
    expect(other?.missing).toEqual([expect.stringContaining(reason)])
  })

  test('in pools with such hooks cost no request for logs each, where reading resumes', async () => {
    const vault = await funded()
    const own = v4CallsOf(v4.manager, vault.address)
    const junk = {
      address: await chain.deploy(stranger, artifacts.creationOf(artifacts.token, 'JUNK', 18)),
      decimals: 18,
    }
    const unknown = { ...junk, symbol: 'JUNK' }
    await chain.block(protocol.mint(stranger, unknown, 10n ** 30n), protocol.approve(stranger, unknown, v4.liquidity))
    const hooks = await v4.createHook(removalFlag)
    const refused = await v4.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n], {
      hooks,
      fee: 700,
    })
    const ofJunk = await v4.createPool([unknown, 10n ** 18n], [protocol.usdc, 2_000_000_000n], { hooks })
    /** The positions where reading begins, and the requests for logs that they take. */
    const read = async (windowBlocks = 10_000) => {
      await chain.mine(70)
      const proxy = await startProxy(chain.url)
      const connection = await connectChain(
        optionsOf({ ...jsonOf(vault), rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }),
        true,
      )
      const header = await connection.rpc.ask((node) => node.block('latest'))
      proxy.takeCounts()
      const options = { ...connection, vaults: connection.config.vaults, windowBlocks }
      const holdings = await initialPositions(header, options)
      const { eth_getLogs: requests = 0 } = proxy.takeCounts()
      await proxy.close()
      return { ...holdings.of(vault.address), requests }
    }
    const ids = [await minted(refused, vault.address)]
    const one = await read()
    expect(one).toMatchObject({ positions: [], strays: 0, foreign: [{}] })
    for (let index = 0; index < 4; index++) ids.push(await minted(refused, vault.address))
    for (let index = 0; index < 3; index++) await minted(ofJunk, vault.address, { tokens: [protocol.usdc, unknown] })
    const more = await read()
    expect(more).toMatchObject({ positions: [], strays: 3, foreign: [{}, {}, {}, {}, {}] })
    expect(more.requests).toBe(one.requests)

    const [first, , third] = ids as [bigint, bigint, bigint]
    await chain.block(vault.run(own.collect(refused, first)))
    await chain.block(vault.run(own.decrease(refused, third, 10n ** 12n)))
    const changed = await read()
    expect(changed.positions.map(({ id }) => id)).toEqual([first, third].map((id) => `${v4.manager}:${id}`))
    expect(changed.foreign).toHaveLength(3)
    expect(changed.requests).toBe(one.requests)
    const { positions, foreign } = await read(10)
    expect([positions, foreign]).toEqual([changed.positions, changed.foreign])
  })

  test('of two managers with one PoolManager are told apart, and those that were there before the vault count', async () => {
    const manager = await v4.createManager()
    const [deployer] = chain.accounts as [Address]
    const nonce = BigInt(await chain.client.getTransactionCount({ address: deployer }))
    // The vault's creation is four transactions later: two for each position.
    const others = 2n * 3n
    const future = getContractAddress({ from: deployer, nonce: nonce + others })
    const first = await minted(plain, future)
    const second = await minted(plain, future, { manager })
    await chain.mine(40)
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.coinVault)
    expect(vault.address).toBe(future)
    await chain.block(vault.deposit(alice, usdc(20_000)))
    await trade()
    await chain.block(vault.run(v4CallsOf(manager, vault.address).collect(plain, second)))
    await chain.mine(70)
    const json = jsonOf(vault, { otherPositionManagers: [v4.manager, manager] })
    const facts = await factsOf(json)
    expect(eventsOf(facts).map((event) => [event.type, 'positionId' in event && event.positionId])).toEqual([
      ['harvest', `${manager}:${second}`],
    ])
    const ids = new Set(marksOf(facts).flatMap(({ positions }) => positions.map(({ id }) => id)))
    expect(ids).toEqual(new Set([`${v4.manager}:${first}`, `${manager}:${second}`]))
    await expectPaid(vault, await factsOf(jsonOf(vault)), [first])
    await expectSameFromAnywhere(json)
  })

  test('that are made and burned in one block are told, also where they are the first manager of the file', async () => {
    const vault = await funded()
    const own = v4CallsOf(v4.manager, vault.address)
    const id = await v4.nextId()
    const funds = [own.fund(protocol.usdc, usdc(9_000)), own.fund(protocol.weth, weth(9))]
    await chain.block(vault.run(...funds, own.mint(plain, range(plain), 10n ** 12n), own.burn(plain, id)))
    await chain.block(vault.run(...funds, own.mint(plain, range(plain), 10n ** 12n)))
    await chain.mine(80)
    const json = jsonOf(vault, { positionManager: v4.manager, otherPositionManagers: [protocol.manager] })
    const facts = await factsOf(json)
    expect(eventsOf(facts).map((event) => [event.type, 'positionId' in event && event.positionId])).toEqual([
      ['plant', String(id)],
      ['exit', String(id)],
      ['plant', String(id + 1n)],
    ])
    await expectPaid(vault, facts, [id + 1n])
  })

  test('in the coin count at blocks that are older than Multicall3, too', async () => {
    const vault = await funded()
    const tokens = jsonOf(vault)['tokens'] as object[]
    const eth = { address: coin.address, symbol: 'ETH', price: { sameAs: protocol.weth.address } }
    await chain.request({ method: 'anvil_setBalance', params: [vault.address, `0x${weth(3).toString(16)}`] })
    await minted(ofCoin, vault.address, { tokens: [protocol.usdc] })
    await chain.mine(40)
    const [deployer] = chain.accounts as [Address]
    const multicall = await chain.deploy(deployer, artifacts.creationOf(artifacts.multicall))
    await chain.mine(70)
    const json = { ...jsonOf(vault), tokens: [...tokens, eth] }
    const facts = await factsOf(json)
    expect(marksOf(facts).filter(({ positions }) => positions.length > 0).length).toBeGreaterThan(5)
    expect(await factsOf({ ...json, multicall })).toEqual(facts)
  })

  test('are found however long ago they came, and whatever passed through two vaults before', async () => {
    const [vault, other] = [await funded(), await funded()]
    const old = await minted(plain, other.address)
    const passing = await minted(plain, other.address)
    await chain.block(other.run(v4CallsOf(v4.manager, other.address).transfer(vault.address, passing)))
    await chain.block(vault.run(v4CallsOf(v4.manager, vault.address).transfer(stranger, passing)))
    await chain.mine(20)
    const young = await minted(plain, vault.address)
    const { rpc, multicall, venues } = await connectChain(optionsOf(jsonOf(vault)), true)
    const header = await rpc.ask((node) => node.block('latest'))
    const venue = venues.all.find(({ contracts }) => contracts.includes(v4.manager)) as Venue
    const accounts = [vault, other].map(({ address }) => ({ vault: address, account: address }))
    const found = await findLogged(header, venue, accounts, { rpc, multicall, windowBlocks: 10 })
    expect(found.map((one) => [one.vault, one.id])).toEqual([
      [vault.address, `${v4.manager}:${young}`],
      [other.address, `${v4.manager}:${old}`],
    ])
  })
})
