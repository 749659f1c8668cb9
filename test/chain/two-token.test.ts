import { Decimal } from 'decimal.js'
import { type Address, erc20Abi, getAddress, parseEventLogs, type TransactionReceipt } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
import { observe } from './support/observer.ts'
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
import { observePayouts, openShareVault, type ShareVault } from './support/share-vault.ts'

describeOnChain('vaults whose shares stand for two tokens', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let payouts: Awaited<ReturnType<typeof observePayouts>>
  let vaults: Record<'gamma' | 'charm' | 'ichi', ShareVault>
  let alice: Address
  let bob: Address
  let recipient: Address
  let partner: Address
  let donor: Address
  let heir: Address
  let json: ChainJson
  let facts: readonly FactInput[]
  let tick: number

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    payouts = await observePayouts(chain, observer)
    let deployer: Address
    ;[deployer, , alice, bob, , recipient, partner, heir] = chain.accounts as [
      ...[Address, Address, Address, Address, Address, Address, Address, Address],
    ]
    donor = await chain.deploy(deployer, artifacts.creationOf(artifacts.donor))
    await chain.block(...[protocol.usdc, protocol.weth].map((token) => protocol.mint(donor, token, 10n ** 24n)))
    vaults = {
      gamma: await openShareVault(chain, protocol, artifacts.gammaVault, recipient),
      charm: await openShareVault(chain, protocol, artifacts.charmVault),
      ichi: await openShareVault(chain, protocol, artifacts.ichiVault, partner),
    }
    tick = Math.round((await observer.tickOf(await chain.head())) / 10) * 10
    await live()
    json = fileOf(...all())
    facts = await factsOf(json)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const all = (): ShareVault[] => Object.values(vaults)
  const fileOf = (...some: readonly ShareVault[]): ChainJson =>
    chainJson(
      chain.url,
      protocol,
      some.map(({ address, firstBlock }) => ({ address, firstBlock })),
    )
  const each = (work: (vault: ShareVault) => Call): Promise<TransactionReceipt[]> => chain.block(...all().map(work))
  const trade = (): Promise<TransactionReceipt[]> =>
    chain.block(
      protocol.swap(protocol.usdc, protocol.weth, usdc(90_000)),
      protocol.swap(protocol.weth, protocol.usdc, weth(31)),
      protocol.swap(protocol.usdc, protocol.weth, usdc(1_234.567891)),
    )
  /** Adds liquidity in the name of a vault, as anybody can. */
  const donate = (vault: ShareVault, lower: number, upper: number): Call =>
    callOf(alice, donor, artifacts.donor.abi, 'add', [vault.pool, vault.address, lower, upper, 10n ** 12n])
  const redeemAll = async (account: Address): Promise<void> => {
    for (const vault of all()) {
      const shares = await vault.read<bigint>('balanceOf', await chain.head(), account)
      await chain.block(vault.withdraw(account, shares))
    }
  }

  async function live(): Promise<void> {
    const { gamma, charm, ichi } = vaults
    await each((vault) => vault.deposit(alice, usdc(40_000), weth(20)))
    await each((vault) => vault.rebalance(tick - 600, tick + 600, tick - 300, tick - 100))
    await trade()
    await chain.mine(2)
    await each((vault) => vault.deposit(bob, usdc(5_000.000007), weth(2.5)))
    await trade()
    await chain.block(gamma.call(gamma.owner, 'poke'), ichi.call(bob, 'collectFees'))
    await trade()
    // In a range that the vault doesn't name, and later does.
    await each((vault) => donate(vault, tick - 1_200, tick + 1_200))
    await chain.mine(11)
    await each((vault) => vault.rebalance(tick - 1_200, tick + 1_200, tick + 100, tick + 900))
    // In a range that it holds, and in one that it never names.
    await each((vault) => donate(vault, tick + 100, tick + 900))
    await each((vault) => donate(vault, tick - 2_000, tick + 2_000))
    await trade()
    await chain.block(ichi.call(ichi.owner, 'transferOwnership', heir))
    await each((vault) => vault.withdraw(alice, weth(5)))
    await chain.block(charm.call(charm.owner, 'collectProtocol', recipient))
    await trade()
    await redeemAll(alice)
    await chain.mine(11)
    await redeemAll(bob)
    await chain.mine(14)
  }

  const marksOf = (vault: ShareVault): MarkFact[] =>
    facts.flatMap((fact) => (fact.kind === 'mark' && fact.vault === vault.address ? [fact] : []))
  const eventsOf = (vault: ShareVault, ...types: readonly EventFact['type'][]): EventFact[] =>
    facts.flatMap((fact) =>
      fact.kind === 'event' && fact.vault === vault.address && types.includes(fact.type) ? [fact] : [],
    )
  const balanceOf = (token: Address, account: Address, block: number): Promise<bigint> =>
    chain.client.readContract({
      address: token,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [account],
      blockNumber: BigInt(block),
    })
  /** Of Charm's: amounts among its balances that are the protocol's. */
  const accruedAt = async (vault: ShareVault, block: number): Promise<readonly [bigint, bigint]> =>
    vault === vaults.charm
      ? [await vault.read('accruedProtocolFees0', block), await vault.read('accruedProtocolFees1', block)]
      : [0n, 0n]

  test('are worth what everything in the ranges that they name would pay, at every mark', async () => {
    const blocks = new Map<number, number>()
    for (let block = vaults.gamma.firstBlock; block <= (await chain.head()); block++) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    for (const vault of all()) {
      const marks = marksOf(vault)
      expect(marks.length).toBeGreaterThan(12)
      for (const { ts, valueUsd, positions } of marks) {
        const block = blocks.get(ts) as number
        const paid = await payouts.payoutAt(vault, await payouts.rangesAt(vault, block), block)
        const accrued = await accruedAt(vault, block)
        const own = [paid.balances[0] - accrued[0], paid.balances[1] - accrued[1]] as const
        expect([block, valueUsd]).toEqual([block, (await payouts.worth(vault, own, block)).toFixed()])
        const open = paid.ranges.filter(({ rewards, principal }) =>
          [...rewards, ...principal].some((units) => units > 0n),
        )
        const expected = await Promise.all(
          open.map(async ({ ticks, rewards }) => ({
            ticks,
            pendingRewardsUsd: (await payouts.worth(vault, rewards, block)).toFixed(),
          })),
        )
        const marked = positions.map(({ ticks, pendingRewardsUsd }) => ({
          ticks: [ticks?.lower, ticks?.upper],
          pendingRewardsUsd,
        }))
        expect(marked.toSorted(byTicks)).toEqual(expected.toSorted(byTicks))
      }
    }
  })

  test('have the flows that their logs tell, in both tokens', async () => {
    for (const vault of all()) {
      const flows = eventsOf(vault, 'deposit', 'withdraw')
      expect(flows.map(({ type }) => type)).toEqual(['deposit', 'deposit', 'withdraw', 'withdraw', 'withdraw'])
      for (const flow of flows) {
        const { amounts } = await transfersOf(vault, flow)
        const worth = await payouts.worth(vault, amounts, flow.block)
        expect('amountUsd' in flow && flow.amountUsd).toBe(worth.toFixed())
        if (flow.type !== 'deposit') continue
        const expected = vault.tokens.map(({ symbol, decimals }, side) => ({
          symbol,
          amount: new Decimal(String(amounts[side])).div(new Decimal(10).pow(decimals)).toFixed(),
        }))
        expect(flow.assets).toEqual(expected)
      }
    }
  })

  test('pay the fees that arrive with the recipient, or are set aside for the protocol', async () => {
    for (const vault of all()) {
      const blocks = [...new Set(eventsOf(vault, 'fee').map(({ block }) => block))]
      expect(blocks.length).toBeGreaterThan(0)
      for (const block of blocks) {
        const fees = eventsOf(vault, 'fee').flatMap((fee) => ('amountUsd' in fee && fee.block === block ? [fee] : []))
        const feesUsd = fees.reduce((sum, { amountUsd }) => sum.plus(String(amountUsd)), new Decimal(0))
        const worth = await payouts.worth(vault, await chargedIn(vault, block), block)
        // Each log is rounded by itself.
        expect(feesUsd.minus(worth).abs().toNumber()).toBeLessThanOrEqual(fees.length * 0.000_000_5)
      }
    }
  })

  test('tell changes of positions, their rewards, and the exit', () => {
    for (const vault of all()) {
      const types = eventsOf(vault, 'plant', 'rebalance', 'exit').map(({ type }) => type)
      expect(types[0]).toBe('plant')
      expect(types.filter((type) => type === 'plant').length).toBeGreaterThan(1)
      expect(types.at(-1)).toBe('exit')
      expect(eventsOf(vault, 'harvest').length).toBeGreaterThan(0)
    }
    const owners = facts.flatMap((fact) => (fact.kind === 'owner' ? [[fact.vault, fact.owner]] : []))
    expect(owners).toEqual([[vaults.ichi.address, heir]])
  })

  test('are read the same from anywhere, singly and together', async () => {
    const database = await emptyDatabase()
    const { vaults: entries } = json as { vaults: readonly object[] }
    const [first, ...later] = entries
    await applyChain(database, { ...json, vaults: [first] })
    await applyChain(database, { ...json, vaults: [first, ...later] })
    const read = await dumpReadModel(database)
    await emptyDatabase()
    await applyChain(database, json)
    expect(await dumpReadModel(database)).toEqual(read)
    const alone = (await linesOf(fileOf(vaults.charm))).filter((line) => line.includes(vaults.charm.address))
    const together = facts.map((fact) => JSON.stringify(fact)).filter((line) => line.includes(vaults.charm.address))
    expect(alone).toEqual(together)
  })

  test('are checked before anything is stored', async () => {
    const reports = await checkVaults(await connectChain(optionsOf(json), false))
    expect(reports.map(({ missing }) => missing)).toEqual([[], [], []])
    expect(reports[0]?.adapter).toBe(
      `two-token shares, NFTs of Uniswap v3 or PancakeSwap v3, positions in the pool ${protocol.ethPool} itself`,
    )
  })

  test('are set aside where their total is another than what they hold', async () => {
    const messages: ReaderMessage[] = []
    const boastful = await openShareVault(chain, protocol, artifacts.boastfulVault, recipient)
    await chain.block(boastful.deposit(alice, usdc(10), weth(1)))
    await chain.mine(14)
    const lines = await linesOf(fileOf(boastful, vaults.ichi), messages)
    const [total0, total1] = await boastful.read<readonly [bigint, bigint]>('getTotalAmounts', await chain.head())
    expect(messages.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      expect.stringContaining(
        `${boastful.address} tells a total of ${total0} and ${total1}, and its balances and positions are ${total0 - 1n} and `,
      ),
    ])
    expect(lines.filter((line) => line.includes(boastful.address))).toHaveLength(1)
    expect(lines.filter((line) => line.includes(vaults.ichi.address)).length).toBeGreaterThan(20)
  })

  const byTicks = (a: object, b: object): number => JSON.stringify(a).localeCompare(JSON.stringify(b))

  async function transfersOf(vault: ShareVault, flow: EventFact) {
    const receipt = await chain.receiptOf(flow.txHash as Address)
    const log = receipt.logs.find(({ logIndex }) => logIndex === flow.logIndex)
    const words = (log?.data.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
    const amounts = [words[1] ?? 0n, words[2] ?? 0n] as const
    // The tokens went that way, all of them.
    const moved = vault.tokens.map(({ address }) =>
      parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: receipt.logs })
        .filter((one) => getAddress(one.address) === address)
        .filter(({ args }) => (flow.type === 'deposit' ? args.from : args.to) === getAddress(receipt.from))
        .reduce((sum, { args }) => sum + args.value, 0n),
    )
    expect(moved).toEqual(amounts)
    return { amounts }
  }

  async function chargedIn(vault: ShareVault, block: number): Promise<readonly [bigint, bigint]> {
    const accounts = await Promise.all(
      [block - 1, block].map(async (at): Promise<readonly [bigint, bigint]> => {
        if (vault === vaults.charm) return accruedAt(vault, at)
        const [one, other] = await Promise.all(
          vault.tokens.map(({ address }) => balanceOf(address, vault === vaults.ichi ? partner : recipient, at)),
        )
        return [one ?? 0n, other ?? 0n]
      }),
    )
    const [before, after] = accounts as [readonly [bigint, bigint], readonly [bigint, bigint]]
    return [after[0] - before[0], after[1] - before[1]]
  }
})
