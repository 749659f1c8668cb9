import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { usdc } from './support/amounts.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, factsOf, linesAfter, linesOf, positionsOf } from './support/reading.ts'

describeOnChain('requests to deposit that are cancelled, by ERC-7887', () => {
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

  const jsonOf = ({ address, firstBlock }: Operator) =>
    chainJson(chain.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 1 })

  test.each([
    ['until their cancelation is fulfilled', true],
    ['no more from their cancelation on', false],
  ])('and count as pending %s are a debt of the vault until they are claimed', async (_name, keepsPending) => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.cancelVault, keepsPending)
    await chain.block(vault.deposit(alice, usdc(100)))
    await chain.block(vault.callOf(bob, 'requestDeposit', usdc(9), bob, bob))
    await chain.mine(2)
    await chain.block(vault.callOf(bob, 'cancelDepositRequest', 0n, bob))
    await chain.mine(2)
    await chain.block(vault.callOf(alice, 'fulfilCancel', bob))
    await chain.mine(2)
    await chain.block(vault.callOf(bob, 'claimCancelDepositRequest', 0n, bob, bob))
    await chain.mine(2)
    // Other requests are still counted.
    await chain.block(vault.callOf(bob, 'requestDeposit', usdc(7), bob, bob))
    await chain.block(vault.callOf(alice, 'fulfil', bob))
    await chain.block(vault.callOf(bob, 'claimDeposit', usdc(7), bob))
    await chain.mine(4)
    const facts = await factsOf(jsonOf(vault))
    const values = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact.valueUsd] : []))
    expect(values.filter((value, index) => value !== values[index - 1])).toEqual(['0', '100', '107'])
    const lines = await linesOf(jsonOf(vault))
    for (const [line, position] of [...(await positionsOf(jsonOf(vault)))].filter((_, index) => index % 5 === 0)) {
      expect([line, await linesAfter(jsonOf(vault), position)]).toEqual([line, lines.slice(line)])
    }
  })
})
