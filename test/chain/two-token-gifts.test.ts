import { Decimal } from 'decimal.js'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
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
import { deployProtocol, type Protocol } from './support/protocol.ts'
import {
  chainJson,
  type ChainJson,
  type EventFact,
  linesOf,
  type MarkFact,
  type ReaderMessage,
} from './support/reading.ts'
import { observePayouts, openShareVault, type ShareVault } from './support/share-vault.ts'

describeOnChain('vaults that tell a total, and to which a stranger adds positions', () => {
  let chain: TestChain
  let protocol: Protocol
  let observer: ReturnType<typeof observe>
  let payouts: Awaited<ReturnType<typeof observePayouts>>
  let vaults: readonly ShareVault[]
  let clm: { readonly address: Address; readonly firstBlock: number; readonly strategy: Address }
  let [stranger, alice, donor] = [] as unknown as [Address, Address, Address]
  let tick: number
  /** The blocks in which the stranger mints NFTs to the vaults, and adds liquidity in ranges that they have left. */
  let [minted, refilled] = [0, 0]
  let facts: FactInput[]
  const messages: ReaderMessage[] = []

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    observer = observe(chain, protocol)
    payouts = await observePayouts(chain, observer)
    ;[stranger, , alice] = chain.accounts as [Address, Address, Address]
    donor = await chain.deploy(stranger, artifacts.creationOf(artifacts.donor))
    await chain.block(...[protocol.usdc, protocol.weth].map((token) => protocol.mint(donor, token, 10n ** 24n)))
    vaults = [
      await openShareVault(chain, protocol, artifacts.gammaVault, stranger),
      await openShareVault(chain, protocol, artifacts.charmVault),
      await openShareVault(chain, protocol, artifacts.ichiVault, stranger),
    ]
    clm = await openClm()
    tick = Math.round((await observer.tickOf(await chain.head())) / 10) * 10
    await live()
    facts = (await linesOf(json(), messages)).map((line) => JSON.parse(line) as FactInput)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const json = (): ChainJson =>
    chainJson(
      chain.url,
      protocol,
      [...vaults, clm].map(({ address, firstBlock }) => ({ address, firstBlock })),
    )

  async function openClm() {
    const owner = chain.accounts[1] as Address
    const { abi } = artifacts.beefyVault
    const data = artifacts.creationOf(artifacts.beefyVault, protocol.ethPool, owner, stranger, protocol.weth.address)
    const address = await chain.deploy(stranger, data)
    const firstBlock = await chain.head()
    const strategy = (await chain.client.readContract({ address, abi, functionName: 'strategy' })) as Address
    await chain.block(...[protocol.usdc, protocol.weth].map((token) => protocol.approve(alice, token, address)))
    return { address, firstBlock, strategy }
  }

  /** Mints an NFT with liquidity in the vaults' own pool to an account. */
  const mintTo = (account: Address): Call => ({
    from: stranger,
    to: protocol.manager,
    data: protocol.mintData(account, tick - 3_000, tick + 3_000, [
      [protocol.usdc, usdc(20)],
      [protocol.weth, weth(0.01)],
    ]),
  })
  /** Adds liquidity in the name of a vault, as anybody can. */
  const donate = (account: Address, lower: number, upper: number): Call =>
    callOf(stranger, donor, artifacts.donor.abi, 'add', [protocol.ethPool, account, lower, upper, 10n ** 12n])

  async function live(): Promise<void> {
    const each = (work: (vault: ShareVault) => Call) => chain.block(...vaults.map(work))
    const ofStrategy = (name: string, ...args: readonly unknown[]): Call =>
      callOf(chain.accounts[1] as Address, clm.strategy, artifacts.beefyStrategy.abi, name, args)
    const { amounts } = pairOf(protocol, usdc(4_000), weth(2))
    await each((vault) => vault.deposit(alice, usdc(40_000), weth(20)))
    await chain.block(callOf(alice, clm.address, artifacts.beefyVault.abi, 'deposit', amounts))
    await each((vault) => vault.rebalance(tick - 600, tick + 600, tick - 300, tick - 100))
    await chain.mine(3)
    await chain.block(...vaults.map(({ address }) => mintTo(address)), mintTo(clm.strategy))
    minted = await chain.head()
    await chain.mine(12)
    const ticks = await chain.client.readContract({
      address: clm.strategy,
      abi: artifacts.beefyStrategy.abi,
      functionName: 'positionMain',
    })
    await each((vault) => vault.rebalance(tick - 1_200, tick + 1_200, tick + 100, tick + 900))
    await chain.block(ofStrategy('moveTicks', 900))
    await chain.mine(3)
    const [lower, upper] = ticks as [number, number]
    await chain.block(
      ...vaults.map(({ address }) => donate(address, tick - 600, tick + 600)),
      donate(clm.strategy, lower, upper),
    )
    refilled = await chain.head()
    await chain.mine(24)
  }

  const marksOf = (vault: Address): MarkFact[] =>
    facts.flatMap((fact) => (fact.kind === 'mark' && fact.vault === vault ? [fact] : []))
  const timeOf = async (block: number): Promise<number> =>
    Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp)

  test('are read on', () => {
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('are worth what the ranges that they name would pay', async () => {
    for (const vault of vaults) {
      const marks = marksOf(vault.address)
      expect(marks.length).toBeGreaterThan(5)
      const head = (await chain.head()) - 4
      const last = marks.at(-1) as MarkFact
      const paid = await payouts.payoutAt(vault, await payouts.rangesAt(vault, head), head)
      const accrued: readonly bigint[] =
        vault === vaults[1]
          ? [await vault.read('accruedProtocolFees0', head), await vault.read('accruedProtocolFees1', head)]
          : [0n, 0n]
      const own = [paid.balances[0] - (accrued[0] ?? 0n), paid.balances[1] - (accrued[1] ?? 0n)] as const
      expect(last.valueUsd).toBe((await payouts.worth(vault, own, head)).toFixed())
      expect(last.positions).toHaveLength(2)
    }
  })

  test('are worth no more at the mark after that than before', async () => {
    for (const { address } of [...vaults, clm]) {
      for (const block of [minted, refilled]) {
        const ts = await timeOf(block)
        const before = marksOf(address).findLast((mark) => mark.ts < ts)
        const after = marksOf(address).find((mark) => mark.ts >= ts)
        const gain = new Decimal(String(after?.valueUsd)).minus(String(before?.valueUsd))
        expect(gain.abs().toNumber()).toBeLessThan(0.01)
        expect(after?.positions.length).toBe(before?.positions.length)
      }
    }
  })

  test('have no row for liquidity that a stranger adds to a range that they have left', () => {
    const rows = facts.flatMap((fact): EventFact[] => (fact.kind === 'event' && fact.block === refilled ? [fact] : []))
    expect(rows).toEqual([])
  })
})
