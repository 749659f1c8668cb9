import { type Address, encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { type Known, observe } from './support/observer.ts'
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { applyChain, chainJson, type ChainJson, factsOf, type MarkFact } from './support/reading.ts'
import { transferData } from './support/strays.ts'

describeOnChain('vaults of which something odd happens', () => {
  let chain: TestChain
  let protocol: Protocol
  let [stranger, alice] = [] as unknown as [Address, Address]
  /** Two with a position in the same range; one whose asset is not divided. */
  let vault: Operator
  let other: Operator
  let whole: Operator
  let points: TestToken
  /** The positions of the first two, from a block on. */
  const held = new Map<Address, { readonly from: number; readonly positions: readonly Known[] }[]>()
  let facts: readonly FactInput[]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[stranger, , alice] = chain.accounts as [Address, Address, Address]
    const address = await chain.deploy(stranger, artifacts.creationOf(artifacts.token, 'PTS', 0))
    points = { address, symbol: 'PTS', decimals: 0 }
    vault = await openVault(chain, protocol, protocol.usdc)
    other = await openVault(chain, protocol, protocol.usdc)
    whole = await openVault(chain, protocol, points)
    await live()
    facts = await factsOf(jsonOf())
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  function jsonOf(): ChainJson {
    const vaults = [vault, other, whole].map(({ address, firstBlock }) => ({ address, firstBlock }))
    const json = chainJson(chain.url, protocol, vaults, { markEveryBlocks: 7 })
    return { ...json, tokens: [...(json['tokens'] as object[]), { ...points, decimals: undefined, price: 'stable' }] }
  }
  const ofManager = (name: string, ...args: unknown[]): readonly [Address, Hex] => [
    protocol.manager,
    encodeFunctionData({ abi: artifacts.manager.abi, functionName: name, args }),
  ]
  const moved = (from: Address, to: Address, id: bigint) => [protocol.manager, transferData(from, to, id)] as const
  const mintData = (to: Address): Hex =>
    protocol.mintData(to, -887_270, 887_270, [
      [protocol.usdc, usdc(300)],
      [protocol.weth, weth(0.15)],
    ])
  const trade = () => chain.block(protocol.swap(protocol.usdc, protocol.weth, usdc(300_000)))

  async function mintedBy(holder: Operator): Promise<bigint> {
    const [receipt] = await chain.block(holder.run([protocol.manager, mintData(holder.address)]))
    const logs = receipt === undefined ? [] : logsOf(receipt, holder.address, protocol.manager)
    return logs.find(({ name }) => name === 'IncreaseLiquidity')?.args['tokenId'] as bigint
  }

  async function holds(holder: Operator, ...positions: Known[]): Promise<void> {
    held.set(holder.address, [...(held.get(holder.address) ?? []), { from: await chain.head(), positions }])
  }

  async function live(): Promise<void> {
    await chain.block(
      vault.deposit(alice, usdc(20_000)),
      other.deposit(alice, usdc(20_000)),
      whole.deposit(alice, 7n),
      protocol.mint(vault.address, protocol.weth, weth(10)),
      protocol.mint(other.address, protocol.weth, weth(10)),
    )
    const mine = await mintedBy(vault)
    await holds(vault, { id: mine })
    const theirs = await mintedBy(other)
    await holds(other, { id: theirs })
    await trade()
    const [receipt] = await chain.block({ from: stranger, to: protocol.manager, data: mintData(stranger) })
    const foreign = (receipt && logsOf(receipt, stranger, protocol.manager)[0]?.args['tokenId']) as bigint
    const [to, data] = ofManager('setApprovalForAll', vault.address, true)
    await chain.block({ from: stranger, to, data })
    await chain.mine(2)
    // In and out of the vault in one transaction; out and in; and to itself.
    await chain.block(vault.run(moved(stranger, vault.address, foreign), moved(vault.address, stranger, foreign)))
    await trade()
    await chain.block(vault.run(moved(vault.address, stranger, mine), moved(stranger, vault.address, mine)))
    await chain.block(vault.run(moved(vault.address, vault.address, mine)))
    // Nothing is added or removed.
    await chain.block(vault.deposit(alice, 0n), vault.withdraw(alice, 0n), whole.withdraw(alice, 2n))
    await trade()
    // From one vault to the other, which has the same range already; the former then holds no position.
    await chain.block(other.run(moved(other.address, vault.address, theirs)))
    await holds(vault, { id: mine }, { id: theirs })
    await holds(other)
    await trade()
    await chain.mine(7)
    // A position without liquidity stays, one is burned.
    const { liquidity } = await observe(chain, protocol).positionAt(vault.address, { id: mine }, await chain.head())
    await chain.block(
      vault.run(
        [protocol.manager, protocol.decreaseData(mine, liquidity)],
        [protocol.manager, protocol.collectData(mine, vault.address)],
      ),
    )
    await holds(vault, { id: theirs })
    await chain.mine(7)
    await chain.block(vault.run(...protocol.burnCalls(theirs, liquidity, vault.address), ofManager('burn', mine)))
    await holds(vault)
    await chain.block(vault.callOf(vault.owner, 'renounceOwnership'))
    await chain.block(vault.deposit(alice, usdc(5)))
    await chain.mine(9)
  }

  const marksOf = ({ address }: Operator): MarkFact[] =>
    facts.flatMap((fact) => (fact.kind === 'mark' && fact.vault === address ? [fact] : []))
  const typesOf = ({ address }: Operator): string[] =>
    facts.flatMap((fact) => (fact.kind === 'event' && fact.vault === address ? [fact.type] : []))

  test('are worth what a full withdrawal would pay, at every mark', async () => {
    const observer = observe(chain, protocol)
    const blocks = new Map<number, number>()
    for (let block = await chain.head(); block > 0; block--) {
      blocks.set(Number((await chain.client.getBlock({ blockNumber: BigInt(block) })).timestamp), block)
    }
    for (const holder of [vault, other]) {
      const marks = marksOf(holder)
      expect(marks.length).toBeGreaterThan(6)
      for (const { ts, valueUsd } of marks) {
        const block = blocks.get(ts) as number
        const positions = held.get(holder.address)?.findLast(({ from }) => from <= block)?.positions ?? []
        expect(valueUsd, `at block ${block}`).toBe((await observer.valueAt(holder.address, positions, block)).toFixed())
      }
    }
    expect(marksOf(whole).at(-1)?.valueUsd).toBe('5')
  })

  test('have events for changes, and none for positions that pass through within a block', () => {
    expect(typesOf(vault)).toEqual([
      'deposit',
      'plant',
      'deposit',
      'withdraw',
      'rebalance',
      'harvest',
      'exit',
      'harvest',
      'deposit',
    ])
    expect(typesOf(other)).toEqual(['deposit', 'plant'])
    expect(typesOf(whole)).toEqual(['deposit', 'withdraw'])
  })

  test('are served without a bad fact, also those without an owner', async () => {
    const database = await emptyDatabase()
    expect((await applyChain(database, jsonOf())).rejected).toEqual({})
    const gateway = gatewayOn(database)
    const answers = await Promise.all(
      [vault, other].map(async ({ address }): Promise<unknown> => {
        const answer = await gateway.get(`/vault/${address}/snapshot`)
        return answer.json()
      }),
    )
    expect(answers).toMatchObject([{ owner: zeroAddress, positions: [] }, { positions: [] }])
  })

  test('have the same facts where their blocks are read in ranges', async () => {
    await chain.mine(80)
    expect((await factsOf(jsonOf())).slice(0, facts.length)).toEqual(facts)
  })
})
