import { type Address, maxUint256 } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, feeTier, type Protocol, type TestToken } from './support/protocol.ts'
import {
  applyChain,
  chainJson,
  type ChainJson,
  factsOf,
  linesAfter,
  linesOf,
  positionsOf,
  type ReaderMessage,
} from './support/reading.ts'

describeOnChain('a vault with an odd history', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let json: ChainJson
  let deployer: Address
  let alice: Address
  /** Planted by the vault; minted to it by another account; in an unknown token. */
  const own = 3n
  const received = 4n
  const junk = 5n
  /** Transferred to it and kept: contracts list it at another index after an earlier one was burned. */
  const kept = 6n

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
    json = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    await live()
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const position = (to: Address, lower: number, upper: number) =>
    protocol.mintData(to, lower, upper, [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, weth(1)],
    ])

  async function live(): Promise<void> {
    const { manager, router } = protocol
    await chain.block(vault.deposit(alice, usdc(20_000)))
    const swap = protocol.swapData(vault.address, protocol.usdc, protocol.weth, usdc(9_000))
    await chain.block(vault.run([router, swap], [manager, position(vault.address, -887_270, 887_270)]))
    // Withdrawn liquidity stays uncollected for some blocks.
    await chain.block(vault.run([manager, protocol.decreaseData(own, 10n ** 13n)]))
    await chain.block(protocol.swap(protocol.usdc, protocol.weth, usdc(50_000)))
    await chain.mine(12)
    await severalInOneSecond()
    await receive()
    await chain.mine(90)
    await chain.block(vault.run([manager, protocol.collectData(own, vault.address)]))
    await leave()
    await chain.mine(12)
  }

  /** Mines three blocks of one second, each with an operation: the node's clock may advance, so that attempts are repeated. */
  async function severalInOneSecond(): Promise<void> {
    for (let attempt = 1; attempt <= 5; attempt++) {
      for (const amount of [1, 2, 3]) {
        await chain.send(vault.deposit(alice, usdc(amount)))
        await chain.mine(1, amount === 1 ? 12 : 0)
      }
      const head = await chain.head()
      const blocks = await Promise.all(
        [0, 1, 2].map((back) => chain.client.getBlock({ blockNumber: BigInt(head - back) })),
      )
      if (new Set(blocks.map(({ timestamp }) => timestamp)).size === 1) return
    }
    throw new Error('no three blocks were of one second')
  }

  /** Receives positions of other accounts: one with liquidity, one in an unknown token. */
  async function receive(): Promise<void> {
    const { manager } = protocol
    await chain.block({ from: deployer, to: manager, data: position(deployer, -100_000, 300_000) })
    const transfer = [deployer, vault.address, received] as const
    await chain.block(callOf(deployer, manager, artifacts.manager.abi, 'transferFrom', transfer))
    const token: TestToken = {
      address: await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'JUNK', 18)),
      symbol: 'JUNK',
      decimals: 18,
    }
    const [token0, token1] = [token, protocol.usdc].sort((a, b) =>
      a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
    ) as [TestToken, TestToken]
    await chain.block(
      protocol.mint(deployer, token, 10n ** 24n),
      callOf(deployer, token.address, artifacts.token.abi, 'approve', [manager, maxUint256]),
      callOf(deployer, manager, artifacts.manager.abi, 'createAndInitializePoolIfNecessary', [
        token0.address,
        token1.address,
        feeTier,
        2n ** 96n,
      ]),
    )
    const data = protocol.mintData(vault.address, -1_000, 1_000, [
      [token, 10n ** 9n],
      [protocol.usdc, 10n ** 9n],
    ])
    await chain.block({ from: deployer, to: manager, data })
    await chain.block({ from: deployer, to: manager, data: position(vault.address, -200_000, 400_000) })
  }

  /** Withdraws and burns the first two positions, each in one transaction. */
  async function leave(): Promise<void> {
    const observer = observe(chain, protocol)
    for (const id of [own, received]) {
      const { liquidity } = await observer.positionAt(vault.address, { id }, await chain.head())
      await chain.block(vault.run(...protocol.burnCalls(id, liquidity, vault.address)))
      await chain.mine(12)
    }
  }

  const ofType = (facts: readonly FactInput[], type: string) =>
    facts.filter((fact) => fact.kind === 'event' && fact.type === type)
  const marksOf = (facts: readonly FactInput[]) => facts.filter((fact) => fact.kind === 'mark')

  test('is applied without a bad fact, and again without a new one', async () => {
    const database = await emptyDatabase()
    const { applied, rejected } = await applyChain(database, json)
    expect(applied).toMatchObject({ strategy: 1, vault: 1 })
    expect(rejected).toEqual({})
    expect((await applyChain(database, json)).applied).toEqual({})
  })

  test('has one mark a second, with the events of all its blocks before it', async () => {
    const facts = await factsOf(json)
    const marks = marksOf(facts)
    expect(new Set(marks.map(({ ts }) => ts)).size).toBe(marks.length)
    // Those of earlier attempts are of several seconds.
    const three = ofType(facts, 'deposit').slice(-3)
    const [second, ...others] = new Set(three.map(({ ts }) => ts))
    expect(others).toEqual([])
    const at = facts.findIndex((fact) => fact.kind === 'mark' && fact.ts === second)
    expect(facts.slice(at - 3, at)).toEqual(three)
  })

  test('holds transferred positions, but none in unknown tokens', async () => {
    const facts = await factsOf(json)
    const ids = new Set(marksOf(facts).flatMap(({ positions }) => positions.map(({ id }) => id)))
    expect([...ids]).toEqual([own, received, kept].map(String))
    expect(JSON.stringify(facts)).not.toContain(`"positionId":"${junk}"`)
    expect(ofType(facts, 'plant')).toHaveLength(2)
    const last = marksOf(facts).at(-1)
    expect(last?.positions.map(({ id }) => id)).toEqual([String(kept)])
  })

  test('reads the payouts of burned positions', async () => {
    const facts = await factsOf(json)
    const out = facts.filter((fact) => fact.kind === 'event' && 'positionId' in fact && fact.positionId === String(own))
    expect(out.map((fact) => (fact.kind === 'event' ? fact.type : ''))).toEqual([
      'plant',
      'rebalance',
      'harvest',
      'rebalance',
    ])
    const moved = out.at(-1) as { amountUsd?: string }
    expect(Number(moved.amountUsd)).toBeGreaterThan(1_000)
  })

  test('stays as it is where another vault is added', async () => {
    const database = await emptyDatabase()
    await applyChain(database, json)
    const other = await openVault(chain, protocol, protocol.weth)
    await chain.block(other.deposit(alice, weth(1)))
    await chain.mine(12)
    const both = chainJson(
      chain.url,
      protocol,
      [vault, other].map(({ address, firstBlock }) => ({ address, firstBlock })),
    )
    const messages: ReaderMessage[] = []
    const { applied, skipped, rejected } = await applyChain(database, both, messages)
    const message = 'The database has facts of vaults already: older ones of the chain are skipped'
    expect(messages).toContainEqual({ level: 'info', message, facts: { vaults: [vault.address] } })
    expect({ applied, skipped, rejected }).toMatchObject({
      applied: { vault: 1, event: 1 },
      skipped: { strategy: 1, vault: 1 },
      rejected: {},
    })
    const grown = await dumpReadModel(database)
    await applyChain(await emptyDatabase(), both)
    expect(await dumpReadModel(database)).toEqual(grown)
  })

  test('has the same lines wherever reading resumes', async () => {
    const lines = await linesOf(json)
    const positions = await positionsOf(json)
    expect(positions.size).toBeGreaterThan(15)
    for (const [line, position] of positions) {
      expect(await linesAfter(json, position), `from line ${line}`).toEqual(lines.slice(line))
    }
  })
})
