import { type Address, erc20Abi, getAddress, parseEventLogs, type TransactionReceipt } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
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
import { pairOf } from './support/cl-venues.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import {
  applyChain,
  chainJson,
  type ChainJson,
  factsOf,
  linesOf,
  optionsOf,
  type ReaderMessage,
  type EventFact,
  type MarkFact,
} from './support/reading.ts'
import { observePayouts } from './support/share-vault.ts'

describeOnChain('vaults that act in steps', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let [alice, bob, owner, recipient, heir] = [] as unknown as [Address, Address, Address, Address, Address]
  let clm: { readonly address: Address; readonly firstBlock: number; readonly strategy: Address }
  let asyncVaults: readonly [Operator, Operator]
  let json: ChainJson
  let facts: readonly FactInput[]
  const charged: TransactionReceipt[] = []

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    ;[, owner, alice, bob, , recipient, heir] = chain.accounts as [
      ...[Address, Address, Address, Address, Address, Address, Address],
    ]
    clm = await openClm()
    asyncVaults = [
      await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false),
      await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, true),
    ]
    json = chainJson(
      chain.url,
      protocol,
      [clm, ...asyncVaults].map(({ address, firstBlock }) => ({ address, firstBlock })),
      { markEveryBlocks: 3 },
    )
    await liveClm()
    await liveAsync()
    facts = await factsOf(json)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function openClm() {
    const [deployer] = chain.accounts as [Address]
    const { ethPool, weth: native } = protocol
    const data = artifacts.creationOf(artifacts.beefyVault, ethPool, owner, recipient, native.address)
    const address = await chain.deploy(deployer, data)
    const firstBlock = await chain.head()
    const strategy = await chain.client.readContract({
      address,
      abi: artifacts.beefyVault.abi,
      functionName: 'strategy',
    })
    const tokens = [protocol.usdc, protocol.weth]
    await chain.block(
      ...[alice, bob].flatMap((account) =>
        tokens.flatMap((token) => [
          protocol.mint(account, token, 10n ** 6n * 10n ** BigInt(token.decimals)),
          protocol.approve(account, token, address),
        ]),
      ),
    )
    return { address, firstBlock, strategy: strategy as Address }
  }

  const ofVault = (from: Address, name: string, ...args: readonly unknown[]): Call =>
    callOf(from, clm.address, artifacts.beefyVault.abi, name, args)
  const ofStrategy = (from: Address, name: string, ...args: readonly unknown[]): Call =>
    callOf(from, clm.strategy, artifacts.beefyStrategy.abi, name, args)
  const deposit = (from: Address, ofUsdc: number, ofWeth: number): Call =>
    ofVault(from, 'deposit', ...pairOf(protocol, usdc(ofUsdc), weth(ofWeth)).amounts)
  const trade = () =>
    chain.block(
      protocol.swap(protocol.usdc, protocol.weth, usdc(90_000)),
      protocol.swap(protocol.weth, protocol.usdc, weth(31)),
    )
  const harvest = async (): Promise<void> => void charged.push(...(await chain.block(ofStrategy(bob, 'harvest'))))
  const sharesOf = (account: Address): Promise<bigint> =>
    chain.client.readContract({ address: clm.address, abi: erc20Abi, functionName: 'balanceOf', args: [account] })

  async function liveClm(): Promise<void> {
    await chain.block(deposit(alice, 40_000, 20))
    await trade()
    await chain.mine(3)
    await chain.block(ofStrategy(bob, 'claimEarnings'))
    await trade()
    await harvest()
    await chain.mine(3)
    await chain.block(deposit(bob, 5_000.000007, 2.5))
    await trade()
    await chain.block(ofStrategy(owner, 'moveTicks', 900))
    await trade()
    await harvest()
    await chain.block(ofStrategy(owner, 'panic'), ofVault(owner, 'transferOwnership', heir))
    await chain.mine(2)
    await chain.block(ofVault(bob, 'withdraw', (await sharesOf(bob)) / 2n))
    await chain.block(ofStrategy(owner, 'unpause'))
    await trade()
    await chain.block(ofVault(alice, 'withdraw', await sharesOf(alice)))
    await chain.mine(3)
  }

  async function liveAsync(): Promise<void> {
    const each = (work: (vault: Operator) => Call) => chain.block(...asyncVaults.map(work))
    await each((vault) => vault.callOf(alice, 'requestDeposit', usdc(100), alice, alice))
    await each((vault) => vault.callOf(bob, 'requestDeposit', usdc(40), bob, bob))
    await chain.mine(2)
    await each((vault) => vault.callOf(owner, 'fulfil', alice))
    await each((vault) => vault.callOf(alice, 'claimDeposit', usdc(70), alice))
    await chain.mine(3)
    await each((vault) => vault.callOf(alice, 'requestDeposit', usdc(7), alice, alice))
    await each((vault) => vault.callOf(alice, 'claimDeposit', usdc(30), alice))
    await each((vault) => vault.callOf(alice, 'requestRedeem', usdc(20), alice, alice))
    await chain.mine(3)
    await each((vault) => vault.callOf(alice, 'claimRedeem', usdc(20), alice))
    await chain.mine(6)
  }

  const marksOf = (address: Address): MarkFact[] =>
    facts.flatMap((fact) => (fact.kind === 'mark' && fact.vault === address ? [fact] : []))
  const eventsOf = (address: Address, ...types: readonly EventFact['type'][]): EventFact[] =>
    facts.flatMap((fact) =>
      fact.kind === 'event' && fact.vault === address && types.includes(fact.type) ? [fact] : [],
    )
  async function blocksByTs(): Promise<Map<number, number>> {
    const blocks = new Map<number, number>()
    for (let block = clm.firstBlock; block <= (await chain.head()); block++) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    return blocks
  }

  test('of Beefy are worth what their strategies would have after a full withdrawal, at every mark', async () => {
    const payouts = await observePayouts(chain, observer)
    const { tokens } = pairOf(protocol, 0n, 0n)
    const holder = { address: clm.strategy, pool: protocol.ethPool }
    const blocks = await blocksByTs()
    let withFees = 0
    for (const { ts, valueUsd, positions } of marksOf(clm.address)) {
      const block = blocks.get(ts) as number
      const range = async (functionName: string) =>
        (await chain.client.readContract({
          address: clm.strategy,
          abi: artifacts.beefyStrategy.abi,
          functionName,
          blockNumber: BigInt(block),
        })) as readonly [number, number]
      const ranges = [await range('positionMain'), await range('positionAlt')]
      const paid = await payouts.payoutAt(holder, ranges, block)
      const prices = await observer.pricesAt(block)
      const worth = (amounts: readonly [bigint, bigint]): string =>
        observer
          .worth(
            prices,
            tokens.map((token, side) => [token, amounts[side] ?? 0n] as const),
          )
          .toFixed()
      expect([block, valueUsd]).toEqual([block, worth(paid.balances)])
      const rewards = positions.map(({ ticks, pendingRewardsUsd }) => [ticks?.lower, pendingRewardsUsd]).sort()
      const open = paid.ranges.filter(({ principal, rewards: own }) =>
        [...principal, ...own].some((units) => units > 0n),
      )
      expect(rewards).toEqual(open.map((one) => [one.ticks[0], worth(one.rewards)]).sort())
      if (rewards.some(([, usd]) => usd !== '0')) withFees++
    }
    expect(marksOf(clm.address).length).toBeGreaterThan(15)
    expect(withFees).toBeGreaterThan(1)
  })

  test('of Beefy have the capital, fees, owners and suspensions of vault and strategy', async () => {
    const flows = eventsOf(clm.address, 'deposit', 'withdraw')
    expect(flows.map(({ type }) => type)).toEqual(['deposit', 'deposit', 'withdraw', 'withdraw'])
    const prices = await observer.pricesAt(flows[1]?.block ?? 0)
    const second = [
      [protocol.usdc, usdc(5_000.000007)],
      [protocol.weth, weth(2.5)],
    ] as const
    expect(flows[1]).toMatchObject({ amountUsd: observer.worth(prices, second).toFixed() })
    const fees = eventsOf(clm.address, 'fee').map((fee) => 'amountUsd' in fee && fee.amountUsd)
    const expected = charged.map(async (receipt) => {
      const sent = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: receipt.logs })
      const units = sent.find(({ args }) => getAddress(args.to) === recipient)?.args.value ?? 0n
      const prices = await observer.pricesAt(Number(receipt.blockNumber))
      return observer.worth(prices, [[protocol.weth, units]]).toFixed()
    })
    expect(fees).toEqual(await Promise.all(expected))
    expect(eventsOf(clm.address, 'suspend', 'resume').map(({ type }) => type)).toEqual(['suspend', 'resume'])
    expect(eventsOf(clm.address, 'harvest').length).toBeGreaterThan(2)
    expect(facts.filter(({ kind }) => kind === 'owner')).toMatchObject([{ vault: clm.address, owner: heir }])
  })

  test('of ERC-7540 do not count requests until they are claimed', async () => {
    const blocks = await blocksByTs()
    for (const { address } of asyncVaults) {
      expect(eventsOf(address, 'deposit', 'withdraw').map((fact) => 'amountUsd' in fact && fact.amountUsd)).toEqual([
        '70',
        '30',
        '20',
      ])
      for (const { ts, valueUsd } of marksOf(address)) {
        const blockNumber = BigInt(blocks.get(ts) as number)
        const { abi } = artifacts.asyncVault
        const held = (await chain.client.readContract({
          address,
          abi,
          functionName: 'totalAssets',
          blockNumber,
        })) as bigint
        expect([ts, valueUsd]).toEqual([ts, observer.worth({}, []).plus(String(held)).div(1e6).toFixed()])
      }
      expect(marksOf(address).length).toBeGreaterThan(8)
      expect(marksOf(address).at(-1)?.valueUsd).toBe('80')
    }
  })

  test('have the same facts wherever reading resumes', async () => {
    const database = await emptyDatabase()
    const [first, ...later] = json['vaults'] as object[]
    await applyChain(database, { ...json, vaults: [first] })
    await applyChain(database, { ...json, vaults: [first, ...later] })
    await chain.block(...asyncVaults.map((vault) => vault.callOf(bob, 'requestDeposit', usdc(3), bob, bob)))
    await chain.mine(5)
    await applyChain(database, json)
    const read = await dumpReadModel(database)
    await emptyDatabase()
    await applyChain(database, json)
    expect(await dumpReadModel(database)).toEqual(read)
  })

  test('are checked before anything is stored, and need a price of their fee token', async () => {
    const reports = await checkVaults(await connectChain(optionsOf(json), false))
    expect(reports.map(({ missing }) => missing)).toEqual([[], [], []])
    expect(reports.map(({ adapter }) => adapter?.split(',')[0])).toEqual(['Beefy CLM', 'ERC-7540', 'ERC-7540'])
    const { tokens, vaults } = json as { tokens: readonly { symbol: string }[]; vaults: readonly object[] }
    const messages: ReaderMessage[] = []
    const poor = { ...json, tokens: tokens.filter(({ symbol }) => symbol === 'USDC'), vaults: [vaults[1], vaults[0]] }
    await linesOf(poor, messages).catch(() => undefined)
    expect(messages.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      expect.stringMatching(new RegExp(`^A vault is set aside: ${clm.address} has the asset \\S+, none of the tokens`)),
    ])
  })
})
