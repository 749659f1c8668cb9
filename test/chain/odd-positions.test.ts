import { type Address, formatUnits, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Decimal, roundUsd } from '../../src/domain/decimal.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
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
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, sorted, type TestToken } from './support/protocol.ts'
import { applyChain, chainJson, type ChainJson, linesOf, type ReaderMessage } from './support/reading.ts'

describeOnChain('positions in odd tokens', () => {
  let chain: TestChain
  let protocol: Protocol
  let deployer: Address
  let alice: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
    await chain.block(protocol.approve(deployer, protocol.usdc, protocol.router))
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  /** A vault with a position of USDC and another token, and some of that token idle. */
  async function plant(kind: artifacts.Artifact, symbol: string) {
    const address = await chain.deploy(deployer, artifacts.creationOf(kind, symbol, 18))
    const token: TestToken = { address, symbol, decimals: 18 }
    await chain.block(protocol.mint(deployer, token, 10n ** 30n), protocol.approve(deployer, token, protocol.manager))
    await protocol.createPool([token, weth(1)], [protocol.usdc, usdc(1)])
    const vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(10_000)), protocol.mint(vault.address, token, weth(3_000)))
    const mint = protocol.mintData(vault.address, -887_270, 887_270, [
      [token, weth(2_000)],
      [protocol.usdc, usdc(2_000)],
    ])
    const allow = [token.address, protocol.approve(vault.owner, token, protocol.manager).data] as const
    const [receipt] = await chain.block(vault.run(allow, [protocol.manager, mint]))
    const added =
      receipt && logsOf(receipt, vault.address, protocol.manager).find(({ name }) => name === 'IncreaseLiquidity')
    const id = added?.args['tokenId'] as bigint
    const { liquidity } = await observe(chain, protocol).positionAt(vault.address, { id }, await chain.head())
    const json = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], {
      markEveryBlocks: 3,
    })
    const tokens = [...(json['tokens'] as object[]), { address, symbol, price: 'stable' }]
    const owner = (name: string, value: bigint): Call => callOf(deployer, address, kind.abi, name, [value])
    const burn = (): Call => vault.run(...protocol.burnCalls(id, liquidity, vault.address))
    const trade = (): Call => ({ from: deployer, to: protocol.router, data: swapData(token) })
    return { vault, token, id, owner, burn, trade, json: { ...json, tokens } as ChainJson }
  }

  const swapData = (token: TestToken): Hex => protocol.swapData(deployer, protocol.usdc, token, usdc(700))

  /** Requires that each mark is worth the vault's balances and the amounts that the manager owes to the position. */
  async function expectOwed(
    { vault, token, id, json }: { vault: Operator; token: TestToken; id: bigint; json: ChainJson },
    held: readonly [from: number, to: number],
  ) {
    const messages: ReaderMessage[] = []
    const facts = (await linesOf(json, messages)).map((line) => JSON.parse(line) as FactInput)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
    const observer = observe(chain, protocol)
    const pair = sorted([
      [token, 0],
      [protocol.usdc, 0],
    ]).map(([one]) => one)
    const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    const blocks = await blocksByTs(vault)
    for (const { ts, valueUsd, positions } of marks) {
      const block = blocks.get(ts) as number
      let worth = new Decimal(0)
      const add = ({ decimals }: TestToken, units: bigint): void =>
        void (worth = worth.plus(formatUnits(units, decimals)))
      for (const one of pair) add(one, await observer.balance(vault.address, one, block))
      const isHeld = block >= held[0] && block < held[1]
      expect(positions).toHaveLength(isHeld ? 1 : 0)
      if (isHeld) {
        const owed = await observer.positionAt(vault.address, { id }, block)
        owed.held.forEach(([, units], side) => add(pair[side] as TestToken, units))
      }
      expect([block, valueUsd]).toEqual([block, roundUsd(worth).toFixed()])
    }
    const database = await emptyDatabase()
    expect((await applyChain(database, json)).rejected).toEqual({})
    const ledger = facts.flatMap((fact) => (fact.kind === 'event' ? [fact.type] : []))
    return { values: new Map(marks.map(({ ts, valueUsd }) => [blocks.get(ts), Number(valueUsd)])), ledger }
  }

  async function blocksByTs(vault: Operator): Promise<Map<number, number>> {
    const blocks = new Map<number, number>()
    for (let block = await chain.head(); block >= vault.firstBlock; block--) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    return blocks
  }

  test('with a fee on transfers are worth what the pool owes, and the fee is a loss when it pays', async () => {
    const subject = await plant(artifacts.feeToken, 'FEE')
    const planted = await chain.head()
    await chain.mine(3)
    await chain.block(subject.owner('setFee', 100n))
    await chain.block(subject.trade())
    await chain.mine(4)
    await chain.block(subject.burn())
    const burned = await chain.head()
    await chain.mine(8)
    const { values, ledger } = await expectOwed(subject, [planted, burned])
    expect(ledger).toEqual(['deposit', 'plant', 'exit', 'harvest'])
    const { held } = await observe(chain, protocol).positionAt(subject.vault.address, subject, burned - 1)
    const isFirst = subject.token.address.toLowerCase() < protocol.usdc.address.toLowerCase()
    const paid = Number(formatUnits(held[isFirst ? 0 : 1]?.[1] ?? 0n, 18))
    expect(paid).toBeGreaterThan(1_000)
    const before = [...values].filter(([block = 0]) => block < burned).at(-1)?.[1] ?? 0
    expect(before - (values.get(burned) ?? 0)).toBeCloseTo(paid / 100, 4)
  })

  test('with rebasing balances are worth what the pool owes, which rebasing does not change', async () => {
    const subject = await plant(artifacts.rebasingToken, 'REB')
    const planted = await chain.head()
    await chain.mine(3)
    await chain.block(subject.owner('rebase', weth(1.1)))
    await chain.block(subject.trade())
    await chain.mine(4)
    await chain.block(subject.owner('rebase', weth(1.05)))
    await chain.mine(4)
    await chain.block(subject.burn())
    const burned = await chain.head()
    await chain.mine(8)
    const { values, ledger } = await expectOwed(subject, [planted, burned])
    expect(ledger).toEqual(['deposit', 'plant', 'exit', 'harvest'])
    expect(new Set(values.values()).size).toBeGreaterThan(4)
  })
})
