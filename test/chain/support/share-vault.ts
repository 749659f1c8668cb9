import type { Decimal } from 'decimal.js'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { type Call, callOf, type TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import type { observe } from './observer.ts'
import { type Protocol, sorted, type TestToken } from './protocol.ts'

/** A vault on a local node whose shares stand for the two tokens of a pool. */
export type ShareVault = Awaited<ReturnType<typeof openShareVault>>

/** Amounts that a position pays: token0 and token1. */
export interface PaidRange {
  readonly ticks: readonly [number, number]
  readonly rewards: readonly [bigint, bigint]
  readonly principal: readonly [bigint, bigint]
}

/** @param more constructor arguments beside the pool and the owner */
export async function openShareVault(
  chain: TestChain,
  protocol: Protocol,
  kind: artifacts.Artifact,
  ...more: readonly unknown[]
) {
  const [deployer, owner, alice, bob] = chain.accounts as [Address, Address, Address, Address]
  const pool = protocol.ethPool
  const vault = await chain.deploy(deployer, artifacts.creationOf(kind, pool, owner, ...more))
  const firstBlock = await chain.head()
  const [[token0], [token1]] = sorted([
    [protocol.usdc, 0],
    [protocol.weth, 0],
  ])
  const tokens: readonly [TestToken, TestToken] = [token0, token1]
  await chain.block(
    ...[alice, bob].flatMap((account) =>
      tokens.flatMap((token) => [
        protocol.mint(account, token, 10n ** 6n * 10n ** BigInt(token.decimals)),
        protocol.approve(account, token, vault),
      ]),
    ),
  )
  const call = (from: Address, name: string, ...args: readonly unknown[]): Call =>
    callOf(from, vault, kind.abi, name, args)
  /** Returns amounts of USDC and WETH in the order of the pool. */
  const pair = (usdc: bigint, weth: bigint): readonly [bigint, bigint] =>
    token0 === protocol.usdc ? [usdc, weth] : [weth, usdc]
  const read = async <Value>(functionName: string, block: number, ...args: readonly unknown[]): Promise<Value> =>
    (await chain.client.readContract({
      address: vault,
      abi: kind.abi,
      functionName,
      args,
      blockNumber: BigInt(block),
    })) as Value
  return {
    address: vault,
    firstBlock,
    owner,
    pool,
    tokens,
    call,
    read,
    deposit: (from: Address, usdc: bigint, weth: bigint) => call(from, 'deposit', ...pair(usdc, weth), from),
    withdraw: (from: Address, shares: bigint) => call(from, 'withdraw', shares, from),
    rebalance: (...ranges: readonly [number, number, number, number]) => call(owner, 'rebalance', ranges),
  }
}

/** Reads the amounts that a pool would pay to vaults. */
export async function observePayouts(chain: TestChain, observer: ReturnType<typeof observe>) {
  const [deployer] = chain.accounts as [Address]
  const { abi } = artifacts.payout
  const helper = await chain.deploy(deployer, artifacts.creationOf(artifacts.payout))
  const code = (await chain.client.getCode({ address: helper })) as Hex

  /** Returns the amounts that the vault would have after the withdrawal of all its ranges, by range. */
  const payoutAt = async (
    vault: Pick<ShareVault, 'address' | 'pool'>,
    ranges: readonly (readonly [number, number])[],
    block: number,
  ) => {
    const { data = '0x' } = await chain.client.call({
      to: vault.address,
      data: encodeFunctionData({ abi, functionName: 'takeAll', args: [vault.pool, ranges] }),
      stateOverride: [{ address: vault.address, code }],
      blockNumber: BigInt(block),
    })
    type Paid = Record<'rewards0' | 'rewards1' | 'principal0' | 'principal1', bigint>
    const [paid, balance0, balance1] = decodeFunctionResult({ abi, functionName: 'takeAll', data }) as readonly [
      readonly Paid[],
      bigint,
      bigint,
    ]
    return {
      balances: [balance0, balance1] as const,
      ranges: paid.map((one, index): PaidRange => {
        const ticks = ranges[index] as readonly [number, number]
        return { ticks, rewards: [one.rewards0, one.rewards1], principal: [one.principal0, one.principal1] }
      }),
    }
  }
  const worth = async (vault: ShareVault, amounts: readonly [bigint, bigint], block: number): Promise<Decimal> =>
    observer.worth(
      await observer.pricesAt(block),
      vault.tokens.map((token, side) => [token, amounts[side] ?? 0n] as const),
    )
  return {
    payoutAt,
    worth,
    /** Returns the ranges that the vault reports at a block. */
    async rangesAt(vault: ShareVault, block: number): Promise<(readonly [number, number])[]> {
      const names = ['baseLower', 'baseUpper', 'limitLower', 'limitUpper']
      const [a, b, c, d] = (await Promise.all(names.map((name) => vault.read<number>(name, block)))) as [
        number,
        number,
        number,
        number,
      ]
      return (
        [
          [a, b],
          [c, d],
        ] as const
      ).filter(([lower, upper]) => lower !== upper)
    },
  }
}
