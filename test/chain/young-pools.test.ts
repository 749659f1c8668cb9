import { type Address, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, type ChainJson, linesOf, type ReaderMessage } from './support/reading.ts'
import { deployV4, v4CallsOf } from './support/v4.ts'

describeOnChain('vaults whose positions are in contracts that are younger than the blocks read with them', () => {
  let chain: TestChain
  let protocol: Protocol
  let deployer: Address
  let alice: Address
  /** Older than these contracts. */
  let older: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function openOlder(): Promise<void> {
    older = await openVault(chain, protocol, protocol.usdc)
    await chain.block(older.deposit(alice, usdc(100)))
    await chain.mine(3)
  }

  /** Reads a vault beside the older one, which must not change its facts. */
  async function expectSameBesideOlder(
    { address, firstBlock }: Operator,
    pools: readonly Address[],
    more: ChainJson = {},
  ): Promise<FactInput[]> {
    await chain.mine(100)
    const young = { address, firstBlock, ...(pools.length > 0 && { pools }) }
    const old = { address: older.address, firstBlock: older.firstBlock }
    const messages: ReaderMessage[] = []
    const both = await linesOf(chainJson(chain.url, protocol, [old, young], more), messages)
    expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
    const ofYoung = (lines: readonly string[]): string[] => lines.filter((line) => line.includes(address))
    const alone = ofYoung(await linesOf(chainJson(chain.url, protocol, [young], more)))
    expect(ofYoung(both)).toEqual(alone)
    return alone.map((line) => JSON.parse(line) as FactInput)
  }

  function expectHeld(facts: readonly FactInput[]): void {
    const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    expect(marks.at(-1)?.positions).toHaveLength(1)
  }

  test('are read with those in a pool itself', async () => {
    await openOlder()
    const pool = await protocol.createPool([protocol.weth, weth(1)], [protocol.usdc, usdc(2_000)], 3_000)
    const vault = await openVault(chain, protocol, protocol.usdc)
    const donor = await chain.deploy(deployer, artifacts.creationOf(artifacts.donor))
    const [lower, upper] = [-887_220, 887_220]
    const burn = { abi: artifacts.pool.abi, functionName: 'burn', args: [lower, upper, 1n] }
    await chain.block(
      ...[protocol.usdc, protocol.weth].map((token) => protocol.mint(donor, token, 10n ** 24n)),
      callOf(deployer, donor, artifacts.donor.abi, 'add', [pool, vault.address, lower, upper, 10n ** 12n]),
      vault.run([pool, encodeFunctionData(burn)]),
    )
    expectHeld(await expectSameBesideOlder(vault, [pool]))
  })

  test('are read with those of Uniswap v4', async () => {
    await openOlder()
    const v4 = await deployV4(chain, protocol)
    const key = await v4.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n])
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.coinVault)
    const own = v4CallsOf(v4.manager, vault.address)
    await chain.block(vault.deposit(alice, usdc(20_000)), protocol.mint(vault.address, protocol.weth, weth(40)))
    await chain.block(
      vault.run(
        own.fund(protocol.usdc, usdc(9_000)),
        own.fund(protocol.weth, weth(9)),
        own.mint(key, [-887_220, 887_220], 10n ** 12n),
      ),
    )
    expectHeld(await expectSameBesideOlder(vault, [], { otherPositionManagers: [v4.manager] }))
  })
})
