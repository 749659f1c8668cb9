import { type Address, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { callsOf, deploySlipstream } from './support/cl-venues.ts'
import { observe } from './support/observer.ts'
import { openVault } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { applyChain, chainJson, factsOf, linesAfter, linesOf, type MarkFact, positionsOf } from './support/reading.ts'

describeOnChain('a position in a pool with a gauge', () => {
  let chain: TestChain
  let protocol: Protocol

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  test('that the pool is connected to late counts from the staking on, with its emissions, also after a restart', async () => {
    const [deployer, , alice] = chain.accounts as [Address, Address, Address]
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'AERO', 18))
    const aero: TestToken = { address, symbol: 'AERO', decimals: 18 }
    const slipstream = await deploySlipstream(chain, protocol, aero, { isConnected: false })
    const vault = await openVault(chain, protocol, protocol.usdc)
    const calls = callsOf(protocol, slipstream, vault)
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    await chain.block(vault.deposit(alice, usdc(90_000)), protocol.mint(vault.address, protocol.weth, weth(40)))
    await chain.block(
      vault.run(
        ...calls.allow(protocol.usdc, protocol.weth),
        calls.mint([tick - 600, tick + 600], usdc(20_000), weth(10)),
      ),
    )
    await chain.mine(6)
    await chain.block(slipstream.connect)
    await chain.block(vault.run(...calls.stake(slipstream, 2n)))
    const staked = Number((await chain.client.getBlock()).timestamp)
    await chain.mine(6)

    const base = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    const json = {
      ...base,
      markEveryBlocks: 3,
      otherPositionManagers: [slipstream.manager],
      tokens: [...(base['tokens'] as object[]), { address, symbol: 'AERO', price: 'stable' }],
    }
    const marks = (await factsOf(json)).flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    const holding = marks.filter(({ positions }) => positions.length > 0)
    expect(holding.at(0)?.ts).toBeLessThan(staked)
    expect(holding.at(-1)?.ts).toBeGreaterThan(staked)
    expect(marks.indexOf(holding.at(0) as (typeof marks)[number]) + holding.length).toBe(marks.length)
    const [before, after] = [holding.at(0), holding.at(-1)].map((mark) => Number(mark?.valueUsd)) as [number, number]
    expect(after).toBeGreaterThanOrEqual(before)
    expect(Number(holding.at(-1)?.positions[0]?.pendingRewardsUsd)).toBeGreaterThan(0)
    const database = await emptyDatabase()
    expect((await applyChain(database, json)).rejected).toEqual({})
    expect((await applyChain(database, json)).applied).toEqual({})
    await chain.mine(6)
    expect((await applyChain(database, json)).rejected).toEqual({})
  })

  test('does not count any more once it is sent to the gauge without being staked', async () => {
    const [deployer, , alice] = chain.accounts as [Address, Address, Address]
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'AERO', 18))
    const slipstream = await deploySlipstream(chain, protocol, { address, symbol: 'AERO', decimals: 18 })
    const vault = await openVault(chain, protocol, protocol.usdc)
    const calls = callsOf(protocol, slipstream, vault)
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    await chain.block(vault.deposit(alice, usdc(90_000)), protocol.mint(vault.address, protocol.weth, weth(40)))
    const range = [tick - 600, tick + 600] as const
    await chain.block(
      vault.run(...calls.allow(protocol.usdc, protocol.weth), calls.mint(range, usdc(20_000), weth(10))),
    )
    // Staked and taken back in one block, then staked, then taken back and sent.
    await chain.block(vault.run(...calls.stake(slipstream, 2n)), vault.run(calls.atGauge(slipstream, 'withdraw', 2n)))
    await chain.block(vault.run(...calls.stake(slipstream, 2n)))
    await chain.mine(3)
    await chain.block(vault.run(calls.atGauge(slipstream, 'withdraw', 2n)))
    const { abi } = artifacts.manager
    const args = [vault.address, slipstream.gauge, 2n]
    await chain.block(vault.run([slipstream.manager, encodeFunctionData({ abi, functionName: 'transferFrom', args })]))
    await chain.mine(6)

    const base = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    const tokens = [...(base['tokens'] as object[]), { address, symbol: 'AERO', price: 'stable' }]
    const json = { ...base, markEveryBlocks: 3, otherPositionManagers: [slipstream.manager], tokens }
    const lines = await linesOf(json)
    const numbers = lines.flatMap((line) => {
      const fact = JSON.parse(line) as MarkFact | { readonly kind: 'vault' }
      return fact.kind === 'mark' ? [fact.positions.length] : []
    })
    expect(numbers.join('')).toMatch(/^0+1{5,}0{2,}$/)
    for (const [line, position] of await positionsOf(json)) {
      expect([line, await linesAfter(json, position)]).toEqual([line, lines.slice(line)])
    }
  })
})
