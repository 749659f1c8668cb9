import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { usdc, weth } from './support/amounts.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, factsOf, type MarkFact } from './support/reading.ts'

describeOnChain('shares of vaults', () => {
  let chain: TestChain
  let protocol: Protocol
  let alice: Address
  let bob: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const transfer = (from: Address, { address }: Pick<Operator, 'address'>, to: Address, units: bigint) =>
    callOf(from, address, artifacts.token.abi, 'transfer', [to, units])

  test('count where another vault holds them, and are no asset of their own vault', async () => {
    const inner = await openVault(chain, protocol, protocol.usdc)
    const outer = await openVault(chain, protocol, protocol.weth)
    await chain.block(inner.deposit(alice, usdc(100)), outer.deposit(bob, weth(1)))
    await chain.block(transfer(alice, inner, inner.address, usdc(30)), transfer(alice, inner, outer.address, usdc(20)))
    await chain.mine(3)
    const json = chainJson(
      chain.url,
      protocol,
      [inner, outer].map(({ address, firstBlock }) => ({ address, firstBlock })),
      { markEveryBlocks: 1 },
    )
    const share = { address: inner.address, symbol: 'VLT', price: 'stable' }
    const facts = await factsOf({ ...json, tokens: [...(json['tokens'] as object[]), share] })
    const valueOf = ({ address }: Operator): string | undefined =>
      facts.findLast((fact): fact is MarkFact => fact.kind === 'mark' && fact.vault === address)?.valueUsd
    expect([valueOf(inner), valueOf(outer)]).toEqual(['100', '2020.123457'])
  })
})
