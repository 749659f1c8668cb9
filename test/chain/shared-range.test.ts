import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { withCollectable } from '../../src/chain/valuation/collectable.ts'
import type { Amounts } from '../../src/chain/venues/liquidity-math.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { chainJson, factsOf } from './support/reading.ts'

const units = (amount: number, { decimals }: TestToken): bigint => BigInt(Math.round(amount * 10 ** decimals))

test.each<[string, Amounts[], Amounts[], Amounts[]]>([
  ['as much as is owed', [[5n, 5n]], [[9n, 9n]], [[5n, 5n]]],
  ['no more than the account has', [[5n, 5n]], [[4n, 9n]], [[4n, 5n]]],
  [
    'the rest after another one',
    [
      [5n, 5n],
      [5n, 5n],
    ],
    [
      [9n, 10n],
      [9n, 10n],
    ],
    [
      [5n, 5n],
      [4n, 5n],
    ],
  ],
  // One without liquidity does not credit the account's fees; the other one, of the same owner, does.
  [
    'what another one has credited',
    [
      [5n, 0n],
      [2n, 0n],
    ],
    [
      [3n, 0n],
      [7n, 0n],
    ],
    [
      [5n, 0n],
      [2n, 0n],
    ],
  ],
])('collecting pays %s', (_name, credited, owed, expected) => {
  const positions = credited.map((amounts, index) => ({
    credited: amounts,
    accrued: [0n, 0n] as const,
    account: { key: 'one', owed: owed[index] ?? ([0n, 0n] as const) },
  }))
  expect(withCollectable(positions).map(({ collectable }) => collectable)).toEqual(expected)
})

describeOnChain('several positions of a vault in one range', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  const ids = [3n, 4n, 5n, 6n]
  /** Liquidity too small to earn fees: the pool updates the fees of the whole range whenever it is changed. */
  const tiny = 7n

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.weth)
    await live()
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function live(): Promise<void> {
    const { manager, router, weth, wbtc } = protocol
    const [, , alice] = chain.accounts as [Address, Address, Address]
    await chain.block(vault.deposit(alice, units(500, weth)))
    const swap = protocol.swapData(vault.address, weth, wbtc, units(200, weth))
    const mint = (share: number, range: number) => {
      const amounts = [
        [weth, units(60 * share, weth)],
        [wbtc, units(4 * share, wbtc)],
      ] as const
      return [manager, protocol.mintData(vault.address, -range, range, amounts)] as const
    }
    await chain.block(
      vault.run(
        [router, swap],
        mint(0.3, 880_000),
        mint(0.17, 880_000),
        mint(0.29, 880_000),
        mint(0.1, 500_000),
        mint(1e-7, 880_000),
      ),
    )
    for (let round = 0; round < 24; round++) {
      const id = ids[round % ids.length] as bigint
      await chain.block(
        protocol.swap(weth, wbtc, units(100 + 7 * round, weth)),
        protocol.swap(wbtc, weth, units(6.6 + round / 2, wbtc)),
      )
      await chain.block(vault.run([manager, protocol.collectData(tiny, vault.address)]))
      if (round % 3 === 0) await chain.block(vault.run([manager, protocol.increaseData(id, 10n ** 15n, 10n ** 15n)]))
      if (round % 5 === 1) await chain.block(vault.run([manager, protocol.decreaseData(id, 10n ** 6n)]))
      if (round % 7 === 6) await chain.block(vault.run([manager, protocol.collectData(id, vault.address)]))
    }
    await chain.mine(3)
  }

  test('are worth what their withdrawal together would pay', async () => {
    const { address, firstBlock } = vault
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 1 })
    const observer = observe(chain, protocol)
    const values = new Map<number, string>()
    for (const fact of await factsOf(json)) if (fact.kind === 'mark') values.set(fact.ts, valueOf(fact))
    const expected = new Map<number, string>()
    for (let block = firstBlock; block < (await chain.head()) - 2; block++) {
      const { timestamp } = await chain.client.getBlock({ blockNumber: BigInt(block) })
      const held = block < firstBlock + 3 ? [] : [...ids, tiny].map((id) => ({ id }))
      expected.set(Number(timestamp), (await observer.valueAt(address, held, block)).toFixed())
    }
    expect(expected.size).toBeGreaterThan(35)
    expect(values).toEqual(expected)
  })
})

function valueOf({ valueUsd }: Extract<FactInput, { kind: 'mark' }>): string {
  return valueUsd
}
