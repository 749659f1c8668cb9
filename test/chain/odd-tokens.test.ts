import { type Address, formatUnits } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import {
  applyChain,
  chainJson,
  type ChainJson,
  type EventFact,
  linesOf,
  type MarkFact,
  type ReaderMessage,
} from './support/reading.ts'

interface Snapshot {
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
  readonly netUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
}

describeOnChain('tokens', () => {
  let chain: TestChain
  let protocol: Protocol
  let deployer: Address
  let alice: Address
  /** Its asset is an ordinary token: nothing may change its facts. */
  let good: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
    good = await openVault(chain, protocol, protocol.usdc)
    await chain.block(good.deposit(alice, usdc(100)))
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function deployToken(kind: artifacts.Artifact, symbol: string): Promise<TestToken> {
    return { address: await chain.deploy(deployer, artifacts.creationOf(kind, symbol, 18)), symbol, decimals: 18 }
  }

  function fileOf(vaults: readonly Operator[], price: unknown, ...tokens: readonly TestToken[]): ChainJson {
    const places = vaults.map(({ address, firstBlock }) => ({ address, firstBlock }))
    const json = chainJson(chain.url, protocol, places, { markEveryBlocks: 3 })
    const more = tokens.map(({ address, symbol }) => ({ address, symbol, price }))
    return { ...json, tokens: [...(json['tokens'] as object[]), ...more] }
  }

  async function read(json: ChainJson): Promise<{ facts: FactInput[]; errors: string[] }> {
    const messages: ReaderMessage[] = []
    const facts = (await linesOf(json, messages)).map((line) => JSON.parse(line) as FactInput)
    return { facts, errors: messages.filter(({ level }) => level === 'error').map(({ message }) => message) }
  }

  async function blocksByTs(): Promise<Map<number, bigint>> {
    const blocks = new Map<number, bigint>()
    for (let block = BigInt(await chain.head()); block > 0n; block--) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: block })).timestamp), block)
    }
    return blocks
  }

  const ofVault = (facts: readonly FactInput[], { address }: Operator): FactInput[] =>
    facts.filter((fact) => 'vault' in fact && fact.vault === address)

  /** Compares each mark of a vault without positions with its balance of its asset, which is worth 1 USD. */
  async function expectBalances(facts: readonly FactInput[], vault: Operator): Promise<MarkFact[]> {
    const marks = ofVault(facts, vault).flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    const blocks = await blocksByTs()
    expect(marks.length).toBeGreaterThan(5)
    for (const { ts, valueUsd } of marks) {
      const balance = (await chain.client.readContract({
        address: vault.asset.address,
        abi: artifacts.token.abi,
        functionName: 'balanceOf',
        args: [vault.address],
        blockNumber: blocks.get(ts) as bigint,
      })) as bigint
      expect(Number(valueUsd)).toBeCloseTo(Number(formatUnits(balance, 18)), 5)
    }
    return marks
  }

  async function snapshotOf(json: ChainJson, { address }: Operator): Promise<Snapshot> {
    const database = await emptyDatabase()
    expect((await applyChain(database, json)).rejected).toEqual({})
    return (await (await gatewayOn(database).get(`/vault/${address}/snapshot`)).json()) as Snapshot
  }

  /** Requires that the facts of the ordinary vault are those without the odd ones, apart from the prices of their tokens. */
  async function expectGood(facts: readonly FactInput[]): Promise<void> {
    const alone = await read(fileOf([good], 'stable'))
    const withoutPrices = (some: readonly FactInput[]): FactInput[] =>
      ofVault(some, good).map((fact) => ('prices' in fact ? { ...fact, prices: {} } : fact))
    expect(withoutPrices(facts)).toEqual(withoutPrices(alone.facts))
  }

  test('with a fee on transfers: capital is the received amount, and the fee a loss of the vault', async () => {
    const token = await deployToken(artifacts.feeToken, 'FEE')
    const vault = await openVault(chain, protocol, token)
    const setFee = (basisPoints: bigint) =>
      callOf(deployer, token.address, artifacts.feeToken.abi, 'setFee', [basisPoints])
    await chain.block(setFee(100n))
    await chain.block(vault.deposit(alice, weth(100)))
    await chain.mine(5)
    await chain.block(vault.deposit(alice, weth(200)), vault.withdraw(alice, weth(30)))
    await chain.mine(5)
    await chain.block(vault.withdraw(alice, weth(50)))
    await chain.mine(10)
    const json = fileOf([good, vault], 'stable', token)
    const { facts, errors } = await read(json)
    expect(errors).toEqual([])
    await expectGood(facts)
    // 99 + 198 - 30 - 50
    expect((await expectBalances(facts, vault)).at(-1)?.valueUsd).toBe('217')
    expect(await snapshotOf(json, vault)).toMatchObject({
      valueUsd: 217,
      capitalInUsd: 300,
      capitalOutUsd: 80,
      netUsd: -3,
      strategyDeltaUsd: -3,
      marketDeltaUsd: 0,
    })
  })

  test('with a fee on a deposit that is larger than the vault: the value before it has no loss', async () => {
    const token = await deployToken(artifacts.feeToken, 'DWARF')
    const vault = await openVault(chain, protocol, token)
    await chain.block(callOf(deployer, token.address, artifacts.feeToken.abi, 'setFee', [100n]))
    await chain.block(vault.deposit(alice, weth(100)))
    await chain.block(vault.withdraw(alice, weth(98)))
    await chain.block(vault.deposit(alice, weth(500)), vault.deposit(alice, weth(500)))
    await chain.mine(10)
    const { facts, errors } = await read(fileOf([vault], 'stable', token))
    expect(errors).toEqual([])
    const flows = facts.flatMap((fact) => (fact.kind === 'event' ? [fact] : []))
    expect(flows).toMatchObject([
      { type: 'deposit', amountUsd: '100', valueBeforeUsd: '0' },
      { type: 'withdraw', amountUsd: '98', valueBeforeUsd: '99' },
      { type: 'deposit', amountUsd: '500', valueBeforeUsd: '1' },
      { type: 'deposit', amountUsd: '500', valueBeforeUsd: '501' },
    ])
    expect((await expectBalances(facts, vault)).at(-1)?.valueUsd).toBe('991')
  })

  test('with a fee on requested deposits: a vault that owes more than it holds is worth nothing', async () => {
    const token = await deployToken(artifacts.feeToken, 'ASKED')
    const vault = await openVault(chain, protocol, token, artifacts.asyncVault, false)
    await chain.block(callOf(deployer, token.address, artifacts.feeToken.abi, 'setFee', [100n]))
    await chain.block(vault.callOf(alice, 'requestDeposit', weth(100), alice, alice))
    await chain.mine(6)
    // The missing part is a loss of later depositors.
    await chain.block(protocol.mint(vault.address, token, weth(50)))
    await chain.mine(6)
    await chain.block(vault.callOf(vault.owner, 'fulfil', alice), vault.callOf(alice, 'claimDeposit', weth(100), alice))
    await chain.mine(6)
    const { facts, errors } = await read(fileOf([vault], 'stable', token))
    expect(errors).toEqual([])
    const vaultFacts = ofVault(facts, vault)
    const values = vaultFacts.flatMap((fact) => (fact.kind === 'mark' ? [fact.valueUsd] : []))
    expect([...new Set(values)]).toEqual(['0', '49', '149'])
    expect(vaultFacts.flatMap((fact) => (fact.kind === 'event' ? [fact] : []))).toMatchObject([
      { type: 'deposit', amountUsd: '100', valueBeforeUsd: '49' },
    ])
  })

  test('with rebasing balances: the change is a gain or loss at the next mark', async () => {
    const token = await deployToken(artifacts.rebasingToken, 'REB')
    const vault = await openVault(chain, protocol, token)
    const rebase = (index: bigint) => callOf(deployer, token.address, artifacts.rebasingToken.abi, 'rebase', [index])
    await chain.block(vault.deposit(alice, weth(100)))
    await chain.mine(5)
    await chain.block(rebase(weth(1.1)))
    await chain.mine(5)
    await chain.block(vault.deposit(alice, weth(11)), rebase(weth(1.2)))
    await chain.mine(5)
    await chain.block(rebase(weth(0.6)), vault.withdraw(alice, weth(6)))
    await chain.mine(10)
    const json = fileOf([good, vault], 'stable', token)
    const { facts, errors } = await read(json)
    expect(errors).toEqual([])
    await expectGood(facts)
    // 110 parts of 1.2, then of 0.6, less 6
    expect((await expectBalances(facts, vault)).map(({ valueUsd }) => valueUsd)).toEqual(
      expect.arrayContaining(['100', '110', '132', '60']) as string[],
    )
    const { valueUsd, capitalInUsd, capitalOutUsd, netUsd } = await snapshotOf(json, vault)
    expect({ valueUsd, capitalInUsd, capitalOutUsd, netUsd }).toEqual({
      valueUsd: 60,
      capitalInUsd: 111,
      capitalOutUsd: 6,
      netUsd: -45,
    })
  })

  test('whose pool is initialised later: a vault with capital before is set aside, others are read', async () => {
    const token = await deployToken(artifacts.token, 'LATE')
    const [early, late] = [await openVault(chain, protocol, token), await openVault(chain, protocol, token)]
    const pair = [token.address, protocol.usdc.address, 3_000] as const
    const { abi } = artifacts.factory
    await chain.block(callOf(deployer, protocol.factory, abi, 'createPool', pair))
    const pool = (await chain.client.readContract({
      address: protocol.factory,
      abi,
      functionName: 'getPool',
      args: pair,
    })) as Address
    await chain.block(early.deposit(alice, weth(3)))
    await chain.mine(5)
    // A token is worth 4 of the smallest units of USDC, or the other way round.
    const isDirect = token.address.toLowerCase() < protocol.usdc.address.toLowerCase()
    const rootX96 = isDirect ? 2n ** 97n : 2n ** 95n
    await chain.block(callOf(deployer, pool, artifacts.pool.abi, 'initialize', [rootX96]))
    await chain.block(late.deposit(alice, weth(2)))
    await chain.mine(5)
    const refusal = `^A vault is set aside: LATE has no price at block \\d+: the pool ${pool} is not there, or not initialised$`
    for (const price of [[pool], { pools: [pool], twapSeconds: 1 }]) {
      const { facts, errors } = await read(fileOf([good, early, late], price, token))
      expect(errors).toEqual([expect.stringMatching(refusal)])
      await expectGood(facts)
      // The vault without capital before has no mark as long as there is no price.
      expect(ofVault(facts, early).map(({ kind }) => kind)).toEqual(['vault'])
      const vaultFacts = ofVault(facts, late)
      const first = vaultFacts.findIndex(({ kind }) => kind === 'event')
      // It may be marked with a value of 0 in between, on schedule.
      for (const fact of vaultFacts.slice(1, first)) expect(fact).toMatchObject({ kind: 'mark', valueUsd: '0' })
      expect([vaultFacts[0]?.kind, vaultFacts[first + 1]?.kind]).toEqual(['vault', 'mark'])
      expect(vaultFacts[first]).toMatchObject({ type: 'deposit', valueBeforeUsd: '0' })
      const [deposit, mark] = [vaultFacts[first], vaultFacts.at(-1)] as [EventFact, MarkFact]
      // The mean over time is that of a tick, which is up to 0.01 % below the price.
      const worth = 'amountUsd' in deposit ? Number(deposit.amountUsd) : 0
      expect(Math.abs(worth / 8e12 - 1)).toBeLessThanOrEqual(Array.isArray(price) ? 0 : 0.0001)
      expect(Number(mark.valueUsd)).toBe(worth)
    }
  })
})
