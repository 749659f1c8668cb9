import { Decimal } from 'decimal.js'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import type { TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import type { Protocol, TestToken } from './protocol.ts'

/** State of a vault's position that a test knows. */
export interface Known {
  readonly id: bigint
  /** Amounts taken out and not collected, of token0 and token1. */
  readonly freed?: readonly [bigint, bigint]
}

/** USD prices of tokens by symbol, from the pools, with 18 decimals. */
export type UsdPrices = Readonly<Record<string, Decimal>>

const Exact = Decimal.clone({ precision: 300, rounding: Decimal.ROUND_HALF_EVEN, toExpNeg: -500, toExpPos: 500 })
const maxUint128 = 2n ** 128n - 1n

/** Values vaults by calls of the contracts: by the amounts that they would pay out. */
export function observe(chain: TestChain, protocol: Protocol) {
  const { client } = chain
  const { manager, usdc, weth, wbtc, tokens } = protocol

  const read = async <Value>(
    address: Address,
    { abi }: artifacts.Artifact,
    functionName: string,
    args: unknown[],
    block: number,
  ) => (await client.readContract({ address, abi, functionName, args, blockNumber: BigInt(block) })) as Value

  /** Returns the result of a call of the vault. */
  const pretend = async <Value>(vault: Address, functionName: string, data: Hex, block: number): Promise<Value> => {
    const answer = await client.call({ account: vault, to: manager, data, blockNumber: BigInt(block) })
    return decodeFunctionResult({ abi: artifacts.manager.abi, functionName, data: answer.data ?? '0x' }) as Value
  }

  const priceIn = async (pool: Address, of: TestToken, block: number): Promise<Decimal> => {
    const [root] = await read<readonly [bigint]>(pool, artifacts.pool, 'slot0', [], block)
    const token0 = await read<Address>(pool, artifacts.pool, 'token0', [], block)
    const raw = new Exact(root.toString()).pow(2).div(new Exact(2).pow(192))
    return token0 === of.address ? raw : new Exact(1).div(raw)
  }

  /** Returns the price of WETH in USDC at a tick of their pool: 1.0001 ** tick, adjusted for decimals and token order. */
  const priceAtTick = (tick: number): Decimal => {
    const raw = new Exact('1.0001').pow(tick)
    const isStraight = weth.address.toLowerCase() < usdc.address.toLowerCase()
    return (isStraight ? raw : new Exact(1).div(raw)).times('1e12')
  }

  /* The state of a block doesn't change: each value is read once. */
  const priced = new Map<number, Promise<UsdPrices>>()
  const pricesAt = (block: number): Promise<UsdPrices> => {
    const prices = priced.get(block) ?? readPrices(block)
    priced.set(block, prices)
    return prices
  }
  const readPrices = async (block: number): Promise<UsdPrices> => {
    const eth = await priceIn(protocol.ethPool, weth, block)
    const btc = await priceIn(protocol.btcPool, wbtc, block)
    return {
      USDC: new Exact(1),
      WETH: eth.times('1e12').toDecimalPlaces(18),
      WBTC: eth.times(btc).times('1e2').toDecimalPlaces(18),
    }
  }

  const usd = (prices: UsdPrices, token: TestToken, units: bigint): Decimal =>
    new Exact(units.toString()).div(new Exact(10).pow(token.decimals)).times(prices[token.symbol] as Decimal)

  const positionAt = async (vault: Address, { id, freed = [0n, 0n] }: Known, block: number) => {
    const stored = await read<readonly unknown[]>(manager, artifacts.manager, 'positions', [id], block)
    const [, , token0, token1, feeTier, lower, upper, liquidity] = stored
    const pair = [token0, token1].map((address) => tokens.find((token) => token.address === address) as TestToken)
    const principal =
      liquidity === 0n
        ? ([0n, 0n] as const)
        : await pretend<readonly [bigint, bigint]>(
            vault,
            'decreaseLiquidity',
            protocol.decreaseData(id, liquidity as bigint),
            block,
          )
    // collect() pays what is credited, and credits the fees first.
    const collected = await pretend<readonly [bigint, bigint]>(
      vault,
      'collect',
      protocol.collectData(id, vault, maxUint128),
      block,
    )
    return {
      pair: pair as [TestToken, TestToken],
      feeTier: feeTier as number,
      ticks: [lower, upper] as [number, number],
      liquidity: liquidity as bigint,
      held: pair.map((token, side) => [token, (principal[side] ?? 0n) + (collected[side] ?? 0n)] as const),
      rewards: pair.map((token, side) => [token, (collected[side] ?? 0n) - (freed[side] ?? 0n)] as const),
    }
  }

  /** Returns the amounts that the withdrawal of whole positions in one transaction would pay. */
  const payoutsAt = async (vault: Address, positions: readonly Known[], block: number) => {
    if (positions.length === 0) return []
    const stored = await Promise.all(positions.map((known) => positionAt(vault, known, block)))
    const data = positions.flatMap(({ id }, index) => {
      const liquidity = stored[index]?.liquidity ?? 0n
      return liquidity === 0n ? [] : [protocol.decreaseData(id, liquidity)]
    })
    const collects = positions.map(({ id }) => protocol.collectData(id, vault, maxUint128))
    const calls = encodeFunctionData({
      abi: artifacts.manager.abi,
      functionName: 'multicall',
      args: [[...data, ...collects]],
    })
    const answers = await pretend<readonly Hex[]>(vault, 'multicall', calls, block)
    return answers.slice(data.length).flatMap((answer, index) => {
      const paid = decodeFunctionResult({ abi: artifacts.manager.abi, functionName: 'collect', data: answer })
      return (stored[index]?.pair ?? []).map((token, side) => [token, (paid as readonly bigint[])[side] ?? 0n] as const)
    })
  }

  return {
    pricesAt,
    usd: (prices: UsdPrices, token: TestToken, units: bigint) => usd(prices, token, units).toDecimalPlaces(6),
    /** Returns the value of several amounts together, rounded once. */
    worth: (prices: UsdPrices, amounts: Iterable<readonly [TestToken, bigint]>) =>
      [...amounts]
        .reduce((sum, [token, units]) => sum.plus(usd(prices, token, units)), new Exact(0))
        .toDecimalPlaces(6),
    positionAt,
    priceAtTick,
    tickOf: async (block: number) =>
      (await read<readonly [bigint, number]>(protocol.ethPool, artifacts.pool, 'slot0', [], block))[1],
    balance: (vault: Address, token: TestToken, block: number) =>
      read<bigint>(token.address, artifacts.token, 'balanceOf', [vault], block),
    /** Returns the value of idle balances, and of all that the positions would pay out. */
    async valueAt(vault: Address, positions: readonly Known[], block: number): Promise<Decimal> {
      const prices = await pricesAt(block)
      let sum = new Exact(0)
      for (const token of [usdc, weth, wbtc]) {
        const idle = await read<bigint>(token.address, artifacts.token, 'balanceOf', [vault], block)
        sum = sum.plus(usd(prices, token, idle))
      }
      for (const [token, units] of await payoutsAt(vault, positions, block)) sum = sum.plus(usd(prices, token, units))
      return sum.toDecimalPlaces(6)
    },
  }
}
