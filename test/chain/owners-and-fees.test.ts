import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodePosition, encodePosition } from '../../src/chain/chain-position.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { applyChain, chainJson, type ChainJson, factsOf } from './support/reading.ts'

describeOnChain('a vault with new owners, and fees in shares', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let alice: Address
  let bob: Address
  /** Named by the vault; named in the file alone; owners. */
  let recipient: Address
  let partner: Address
  let heirs: readonly [Address, Address, Address]
  /** Blocks and shares of the fees. */
  const fees: { block: number; shares: bigint; to: Address }[] = []

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    let rest: Address[]
    ;[, , alice, bob, , recipient, partner, ...rest] = chain.accounts as [
      Address,
      Address,
      Address,
      Address,
      Address,
      Address,
      Address,
      ...Address[],
    ]
    heirs = rest.slice(0, 3) as [Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc, artifacts.feeVault, recipient)
    await chain.block(vault.deposit(alice, usdc(1_000)), vault.deposit(bob, usdc(500)))
    await chain.mine(3)
    await feeOf(usdc(10), recipient, vault.callOf(vault.owner, 'accrue', usdc(10)))
    await chain.block(vault.callOf(vault.owner, 'setHighWaterMark', 1_020_000n))
    // Earnings raise the price of a share.
    await chain.block(protocol.mint(vault.address, protocol.usdc, usdc(77)))
    await chain.mine(11)
    await feeOf(usdc(3), recipient, vault.callOf(alice, 'accrueAndDeposit', usdc(3), usdc(20), alice))
    // A mint of 0 shares is no fee: in some tokens anyone can make one.
    await chain.block(vault.callOf(vault.owner, 'accrue', 0n))
    // A recipient's own deposit is no fee.
    await chain.block(
      protocol.mint(recipient, protocol.usdc, usdc(100)),
      protocol.approve(recipient, protocol.usdc, vault.address),
      vault.deposit(recipient, usdc(100)),
    )
    // Nor is a mint to an account that is no recipient in the vault at the start or end of the block, nor in the file.
    await feeOf(
      usdc(7),
      partner,
      vault.callOf(vault.owner, 'setFeeRecipient', partner),
      vault.callOf(vault.owner, 'accrue', usdc(7)),
      vault.callOf(vault.owner, 'setFeeRecipient', recipient),
    )
    await chain.block(vault.callOf(vault.owner, 'transferOwnership', heirs[0]))
    await chain.mine(2)
    await chain.block(
      vault.callOf(heirs[0], 'transferOwnership', heirs[1]),
      vault.callOf(heirs[1], 'transferOwnership', heirs[2]),
    )
    await chain.mine(12)
    facts = await factsOf(jsonOf())
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function feeOf(shares: bigint, to: Address, ...calls: Parameters<TestChain['block']>): Promise<void> {
    await chain.block(...calls)
    fees.push({ block: await chain.head(), shares, to })
  }

  let facts: FactInput[]

  const jsonOf = (more: object = {}): ChainJson => {
    const json = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    return { ...json, vaults: [{ ...(json['vaults'] as object[])[0], ...more }] }
  }
  const read = <Value>(functionName: string, block: number, ...args: readonly unknown[]): Promise<Value> =>
    chain.client.readContract({
      address: vault.address,
      abi: artifacts.feeVault.abi,
      functionName,
      args,
      blockNumber: BigInt(block),
    }) as Promise<Value>
  const inUsd = (units: bigint): number => Number(units) / 1e6

  async function expectedFees(...recipients: Address[]): Promise<[number, number][]> {
    const wanted = fees.filter(({ to }) => recipients.includes(to))
    return Promise.all(
      wanted.map(async ({ block, shares }) => [block, inUsd(await read<bigint>('convertToAssets', block, shares))]),
    )
  }
  const feesIn = (facts: readonly FactInput[]): [number, number][] =>
    facts.flatMap((fact) =>
      fact.kind === 'event' && fact.type === 'fee' ? [[fact.block, Number(fact.amountUsd)] as [number, number]] : [],
    )

  test('has a fact with the last owner of each second in which the owner changes', () => {
    const owners = facts.flatMap((fact) => (fact.kind === 'owner' || fact.kind === 'vault' ? [fact.owner] : []))
    expect(owners).toEqual([vault.owner, heirs[0], heirs[2]])
  })

  test('has fees for shares that a recipient gets without a deposit, at the price of a share', async () => {
    const found = feesIn(facts)
    expect(found).toEqual(await expectedFees(recipient))
    expect(found).toHaveLength(2)
    expect(found[1]?.[1]).toBeGreaterThan(3.1)
    const configured = feesIn(await factsOf(jsonOf({ feeRecipients: [partner] })))
    expect(configured).toEqual(await expectedFees(recipient, partner))
  })

  test('has the value at its high-water mark', async () => {
    const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    const highWaterValues = marks.map(({ highWaterValueUsd }) => highWaterValueUsd)
    expect(highWaterValues[0]).toBeUndefined()
    const supply = await read<bigint>('totalSupply', await chain.head())
    expect(Number(highWaterValues.at(-1))).toBe(inUsd((supply * 1_020_000n) / 10n ** 6n))
  })

  test('serves them', async () => {
    const database = await emptyDatabase()
    expect((await applyChain(database, jsonOf())).rejected).toEqual({})
    const gateway = gatewayOn(database)
    const snapshot = (await (await gateway.get(`/vault/${vault.address}/snapshot`)).json()) as Record<string, unknown>
    const taxed = (await expectedFees(recipient)).reduce((sum, [, amount]) => sum + amount, 0)
    const supply = await read<bigint>('totalSupply', await chain.head())
    const gain = inUsd((supply * 1_020_000n) / 10n ** 6n - usdc(1_620))
    expect(snapshot).toMatchObject({
      owner: heirs[2],
      fees: { contributedUsd: 1_620, withdrawnUsd: 0, taxedUsd: Number(taxed.toFixed(6)), highWaterUsd: gain },
    })
    const rows = (await (await gateway.get(`/vault/${vault.address}/events?type=fee`)).json()) as unknown[]
    expect(rows).toHaveLength(2)
  })

  test('has the same facts where its blocks are read in ranges', async () => {
    await chain.mine(80)
    expect((await factsOf(jsonOf())).slice(0, facts.length)).toEqual(facts)
  })
})

test('a position of an older version has facts that are not read again', () => {
  const block = { number: 7, hash: `0x${'ab'.repeat(32)}` } as const
  const late = [
    { address: '0x52908400098527886E0F7030069857D2E4169EE7', number: 5, hash: `0x${'cd'.repeat(32)}` },
  ] as const
  for (const skipsApplied of [true, false]) {
    expect(decodePosition(encodePosition(3, { block, late, skipsApplied }))).toEqual({ block, late, skipsApplied })
  }
  const older = { line: 3, block: 7, fingerprint: block.hash }
  expect(decodePosition(older)).toEqual({ block, late: [], skipsApplied: true })
})
