import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import { usdc } from './support/amounts.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, linesAfter, linesOf, type MarkFact, optionsOf, positionsOf } from './support/reading.ts'

describeOnChain('a vault behind a proxy that is upgraded', () => {
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

  /** Gives a vault the code of another one, whose storage begins with the same variables. */
  async function upgrade(vault: Operator, kind: artifacts.Artifact, ...args: unknown[]): Promise<void> {
    const other = await openVault(chain, protocol, vault.asset, kind, ...args)
    const code = await chain.client.getCode({ address: other.address })
    await chain.request({ method: 'anvil_setCode', params: [vault.address, code] })
    await chain.mine()
  }

  const fileOf = ({ address, firstBlock }: Operator) =>
    chainJson(chain.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 2 })

  const valuesIn = (lines: readonly string[]): string[] =>
    lines
      .map((line) => JSON.parse(line) as MarkFact | { readonly kind: 'vault' })
      .flatMap((fact) => (fact.kind === 'mark' ? [fact.valueUsd] : []))

  /** The lines of a chain, which must be the same wherever reading resumes. */
  async function linesFromAnywhere(vault: Operator): Promise<string[]> {
    const json = fileOf(vault)
    const lines = await linesOf(json)
    for (const [line, position] of await positionsOf(json)) {
      expect([line, await linesAfter(json, position)]).toEqual([line, lines.slice(line)])
    }
    return lines
  }

  test.each([
    ['keeps the assets of requests itself, then in a silo', false],
    ['keeps the assets of requests in a silo, then itself', true],
  ] as const)('and that %s has them as a debt only where it keeps them', async (_name, hasSilo) => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, hasSilo)
    await chain.block(vault.deposit(alice, usdc(100)), vault.callOf(alice, 'requestDeposit', usdc(9), alice, alice))
    await chain.mine(6)
    await chain.block(vault.callOf(bob, 'fulfil', alice), vault.callOf(alice, 'claimDeposit', usdc(9), alice))
    await upgrade(vault, artifacts.asyncVault, !hasSilo)
    await chain.block(vault.callOf(bob, 'requestDeposit', usdc(2), bob, bob))
    await chain.mine(6)
    const values = valuesIn(await linesFromAnywhere(vault))
    expect([...new Set(values)].filter((value) => value !== '0')).toEqual(['100', '109'])
  })

  test('from ERC-4626 to ERC-7540 has its requests as a debt from then on, also where reading began before', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc)
    const stopping = new AbortController()
    await chain.block(vault.deposit(alice, usdc(100)))
    await chain.mine(6)
    const { facts } = chainFeed(optionsOf(fileOf(vault), { once: false, signal: stopping.signal }), null)
    const values: string[] = []
    for await (const some of facts) {
      values.push(...valuesIn(some.map((fact) => JSON.stringify(fact))))
      if (values.length === 2) {
        await upgrade(vault, artifacts.asyncVault, false)
        await chain.block(callOf(bob, vault.address, artifacts.asyncVault.abi, 'requestDeposit', [usdc(2), bob, bob]))
        await chain.mine(8)
      }
      if (values.length > 6) break
    }
    stopping.abort()
    expect([...new Set(values)].filter((value) => value !== '0')).toEqual(['100'])
    expect([...new Set(valuesIn(await linesFromAnywhere(vault)))].filter((value) => value !== '0')).toEqual(['100'])
  })
})
