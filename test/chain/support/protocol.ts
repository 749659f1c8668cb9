import { type Address, encodeFunctionData, type Hex, maxUint256, zeroAddress } from 'viem'
import { callOf, type TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'

export interface TestToken {
  readonly address: Address
  readonly symbol: string
  readonly decimals: number
}

/** Uniswap v3 with three tokens and two pools on a local node: WETH at 2,000 USDC, WBTC at 15 WETH. */
export type Protocol = Awaited<ReturnType<typeof deployProtocol>>

export const feeTier = 500
export const tickSpacing = 10
const deadline = 2n ** 40n
const maxUint128 = 2n ** 128n - 1n

export async function deployProtocol(chain: TestChain) {
  const [deployer, , , , trader] = chain.accounts as [Address, Address, Address, Address, Address]
  const deploy = (artifact: artifacts.Artifact, ...args: unknown[]): Promise<Address> =>
    chain.deploy(deployer, artifacts.creationOf(artifact, ...args))
  const deployToken = async (symbol: string, decimals: number): Promise<TestToken> => {
    return { address: await deploy(artifacts.token, symbol, decimals), symbol, decimals }
  }
  const multicall = await deploy(artifacts.multicall)
  const factory = await deploy(artifacts.factory)
  const usdc = await deployToken('USDC', 6)
  const weth = await deployToken('WETH', 18)
  const wbtc = await deployToken('WBTC', 8)
  const manager = await deploy(artifacts.manager, factory, weth.address, zeroAddress)
  const router = await deploy(artifacts.router, factory, weth.address)
  const tokens = [usdc, weth, wbtc]

  const mint = (to: Address, token: TestToken, units: bigint) =>
    callOf(deployer, token.address, artifacts.token.abi, 'mint', [to, units])
  const approve = (from: Address, token: TestToken, spender: Address) =>
    callOf(from, token.address, artifacts.token.abi, 'approve', [spender, maxUint256])
  for (const account of [deployer, trader]) {
    await chain.block(
      ...tokens.flatMap((token) => [
        mint(account, token, 10n ** 12n * 10n ** BigInt(token.decimals)),
        approve(account, token, account === deployer ? manager : router),
      ]),
    )
  }

  /** Returns the call data that mints a position, with the ticks of the pool and the maximum amount of each token. */
  const mintData = (
    to: Address,
    lower: number,
    upper: number,
    amounts: readonly (readonly [TestToken, bigint])[],
    tier = feeTier,
  ): Hex => {
    const [[token0, amount0], [token1, amount1]] = sorted(amounts)
    return encodeFunctionData({
      abi: artifacts.manager.abi,
      functionName: 'mint',
      args: [
        {
          token0: token0.address,
          token1: token1.address,
          fee: tier,
          tickLower: lower,
          tickUpper: upper,
          amount0Desired: amount0,
          amount1Desired: amount1,
          amount0Min: 0n,
          amount1Min: 0n,
          recipient: to,
          deadline,
        },
      ],
    })
  }

  /** Creates a pool at the price that follows from two amounts of equal value, with deep liquidity around it. */
  const createPool = async (
    base: readonly [TestToken, bigint],
    quote: readonly [TestToken, bigint],
    tier = feeTier,
  ): Promise<Address> => {
    const [[token0, units0], [token1, units1]] = sorted([base, quote])
    const sqrtPriceX96 = squareRoot((units1 << 192n) / units0)
    const args = [token0.address, token1.address, tier, sqrtPriceX96]
    await chain.block(callOf(deployer, manager, artifacts.manager.abi, 'createAndInitializePoolIfNecessary', args))
    const widest = Math.floor(887_272 / (tier / 50)) * (tier / 50)
    const amounts = [base, quote].map(([token, units]) => [token, units * 5_000n] as const)
    await chain.block({ from: deployer, to: manager, data: mintData(deployer, -widest, widest, amounts, tier) })
    return (await chain.client.readContract({
      address: factory,
      abi: artifacts.factory.abi,
      functionName: 'getPool',
      args: [token0.address, token1.address, tier],
    })) as Address
  }
  const ethPool = await createPool([weth, 10n ** 18n], [usdc, 2_000_123_457n])
  const btcPool = await createPool([wbtc, 10n ** 8n], [weth, 15_037n * 10n ** 15n])

  return {
    multicall,
    factory,
    manager,
    router,
    usdc,
    weth,
    wbtc,
    tokens,
    ethPool,
    btcPool,
    mint,
    approve,
    mintData,
    createPool,
    /** Swaps an amount of one token for another, as the trader. */
    swap: (from: TestToken, to: TestToken, units: bigint) =>
      callOf(trader, router, artifacts.router.abi, 'exactInputSingle', [swapOf(trader, from, to, units)]),
    swapData: (recipient: Address, from: TestToken, to: TestToken, units: bigint): Hex =>
      encodeFunctionData({
        abi: artifacts.router.abi,
        functionName: 'exactInputSingle',
        args: [swapOf(recipient, from, to, units)],
      }),
    increaseData: (id: bigint, amount0: bigint, amount1: bigint): Hex =>
      managerData('increaseLiquidity', {
        tokenId: id,
        amount0Desired: amount0,
        amount1Desired: amount1,
        amount0Min: 0n,
        amount1Min: 0n,
        deadline,
      }),
    decreaseData: (id: bigint, liquidity: bigint): Hex =>
      managerData('decreaseLiquidity', { tokenId: id, liquidity, amount0Min: 0n, amount1Min: 0n, deadline }),
    collectData: (id: bigint, recipient: Address, most = maxUint128): Hex =>
      managerData('collect', { tokenId: id, recipient, amount0Max: most, amount1Max: most }),
    /** Returns the calls by which the owner of a position withdraws its liquidity, collects and burns it. */
    burnCalls: (id: bigint, liquidity: bigint, owner: Address): [Address, Hex][] => [
      [manager, managerData('decreaseLiquidity', { tokenId: id, liquidity, amount0Min: 0n, amount1Min: 0n, deadline })],
      [
        manager,
        managerData('collect', { tokenId: id, recipient: owner, amount0Max: maxUint128, amount1Max: maxUint128 }),
      ],
      [manager, encodeFunctionData({ abi: artifacts.manager.abi, functionName: 'burn', args: [id] })],
    ],
  }
}

/** Returns two tokens with their values in the order of a pool. */
export function sorted<Value>(
  pair: readonly (readonly [TestToken, Value])[],
): [readonly [TestToken, Value], readonly [TestToken, Value]] {
  const [one, other] = pair as [readonly [TestToken, Value], readonly [TestToken, Value]]
  return one[0].address.toLowerCase() < other[0].address.toLowerCase() ? [one, other] : [other, one]
}

function swapOf(recipient: Address, from: TestToken, to: TestToken, units: bigint) {
  return {
    tokenIn: from.address,
    tokenOut: to.address,
    fee: feeTier,
    recipient,
    deadline,
    amountIn: units,
    amountOutMinimum: 0n,
    sqrtPriceLimitX96: 0n,
  }
}

function managerData(functionName: string, parameters: Record<string, unknown>): Hex {
  return encodeFunctionData({ abi: artifacts.manager.abi, functionName, args: [parameters] })
}

export function squareRoot(value: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}
