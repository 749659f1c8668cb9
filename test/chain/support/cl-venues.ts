import { type Address, type Hex, encodeFunctionData } from 'viem'
import { type Call, callOf, type TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import type { Operator } from './operator.ts'
import { type Protocol, sorted, type TestToken } from './protocol.ts'

/** A pool of USDC and WETH of another protocol, and the manager of its positions. */
export interface ClVenue {
  readonly manager: Address
  readonly pool: Address
  /** The fee of the pool, or its tick spacing. */
  readonly poolTerm: number
}

const whole = 2n ** 128n - 1n

/** Returns the tokens of a pool of USDC and WETH, and amounts of both in its order. */
export function pairOf({ usdc, weth }: Protocol, ofUsdc: bigint, ofWeth: bigint) {
  const [[token0, amount0], [token1, amount1]] = sorted([
    [usdc, ofUsdc],
    [weth, ofWeth],
  ])
  return { tokens: [token0, token1] as const, amounts: [amount0, amount1] as const }
}

async function priceOf(chain: TestChain, protocol: Protocol): Promise<bigint> {
  const slot0 = await chain.client.readContract({
    address: protocol.ethPool,
    abi: artifacts.pool.abi,
    functionName: 'slot0',
  })
  return (slot0 as readonly [bigint])[0]
}

/** Adds wide liquidity to a pool. */
async function fill(chain: TestChain, protocol: Protocol, venue: ClVenue): Promise<void> {
  const [deployer] = chain.accounts as [Address]
  await chain.block(...[protocol.usdc, protocol.weth].map((token) => protocol.approve(deployer, token, venue.manager)))
  await chain.block(mintCall(protocol, venue, deployer, [-887_200, 887_200], 10n ** 12n, 500n * 10n ** 18n))
}

/** Returns a call that mints a position to its sender. */
function mintCall(
  protocol: Protocol,
  { manager, pool, poolTerm }: ClVenue,
  from: Address,
  [lower, upper]: readonly [number, number],
  ofUsdc: bigint,
  ofWeth: bigint,
): Call {
  const { amounts } = pairOf(protocol, ofUsdc, ofWeth)
  return callOf(from, manager, artifacts.clManager.abi, 'mint', [pool, poolTerm, lower, upper, ...amounts, from])
}

/** Deploys PancakeSwap's factory and a pool of it, with positions as NFTs. */
export async function deployPancake(chain: TestChain, protocol: Protocol) {
  const [deployer] = chain.accounts as [Address]
  const deploy = (artifact: artifacts.Artifact, ...args: unknown[]): Promise<Address> =>
    chain.deploy(deployer, artifacts.creationOf(artifact, ...args))
  const poolDeployer = await deploy(artifacts.poolDeployer, artifacts.pancakePool.bytecode)
  const factory = await deploy(artifacts.pancakeFactory, poolDeployer)
  const { tokens } = pairOf(protocol, 0n, 0n)
  const pair = [tokens[0].address, tokens[1].address, 500] as const
  await chain.block(callOf(deployer, factory, artifacts.pancakeFactory.abi, 'createPool', pair))
  const { abi } = artifacts.pancakeFactory
  const pool = (await chain.client.readContract({
    address: factory,
    abi,
    functionName: 'getPool',
    args: pair,
  })) as Address
  await chain.block(callOf(deployer, pool, artifacts.pancakePool.abi, 'initialize', [await priceOf(chain, protocol)]))
  const venue: ClVenue = { manager: await deploy(artifacts.clManager, factory, false), pool, poolTerm: 500 }
  await fill(chain, protocol, venue)
  const trader = await deploy(artifacts.pancakeTrader)
  await chain.block(...tokens.map((token) => protocol.mint(trader, token, 10n ** 30n)))
  return {
    ...venue,
    swap: (from: TestToken, units: bigint): Call =>
      callOf(deployer, trader, artifacts.pancakeTrader.abi, 'swap', [pool, from === tokens[0], units]),
  }
}

/**
 * Deploys a pool of Slipstream with a gauge that pays emissions of a token, and positions as NFTs.
 * @param isConnected whether the pool is connected to its gauge from the start
 */
export async function deploySlipstream(
  chain: TestChain,
  protocol: Protocol,
  rewardToken: TestToken,
  { isConnected = true } = {},
) {
  const [deployer] = chain.accounts as [Address]
  const deploy = (artifact: artifacts.Artifact, ...args: unknown[]): Promise<Address> =>
    chain.deploy(deployer, artifacts.creationOf(artifact, ...args))
  const { tokens } = pairOf(protocol, 0n, 0n)
  const [token0, token1] = tokens.map(({ address }) => address)
  const factory = await deploy(artifacts.slipstreamFactory)
  const pool = await deploy(artifacts.slipstreamPool, token0, token1, 10, await priceOf(chain, protocol))
  const manager = await deploy(artifacts.clManager, factory, true)
  const gauge = await deploy(artifacts.clGauge, manager, pool, rewardToken.address)
  const ofPool = (name: string, ...args: unknown[]): Call =>
    callOf(deployer, pool, artifacts.slipstreamPool.abi, name, args)
  const connect = ofPool('connect', gauge, manager)
  await chain.block(
    ...(isConnected ? [connect] : []),
    callOf(deployer, factory, artifacts.slipstreamFactory.abi, 'add', [pool]),
    protocol.mint(gauge, rewardToken, 10n ** 30n),
    ofPool('setRewardRate', 10n ** 16n),
  )
  const venue: ClVenue = { manager, pool, poolTerm: 10 }
  await fill(chain, protocol, venue)
  await chain.block(...tokens.map((token) => protocol.approve(deployer, token, pool)))
  return {
    ...venue,
    gauge,
    /** Connects the pool to its gauge. */
    connect,
    setFee: (fee: number): Call => ofPool('setFee', fee),
    swap: (from: TestToken, units: bigint): Call => ofPool('swap', from === tokens[0], units),
  }
}

type Slipstream = Awaited<ReturnType<typeof deploySlipstream>>

/** Returns the calls of a manager and a gauge that a vault makes. */
export function callsOf(protocol: Protocol, venue: ClVenue, vault: Operator) {
  const data = (artifact: artifacts.Artifact, functionName: string, ...args: unknown[]): Hex =>
    encodeFunctionData({ abi: artifact.abi, functionName, args })
  const ofManager = (name: string, ...args: unknown[]) =>
    [venue.manager, data(artifacts.clManager, name, ...args)] as const
  const collect = (id: bigint) => ofManager('collect', [id, vault.address, whole, whole])
  return {
    allow: (...tokens: readonly TestToken[]) =>
      tokens.map((token) => [token.address, protocol.approve(vault.owner, token, venue.manager).data] as const),
    mint(range: readonly [number, number], ofUsdc: bigint, ofWeth: bigint) {
      return [venue.manager, mintCall(protocol, venue, vault.address, range, ofUsdc, ofWeth).data] as const
    },
    collect,
    increase: (id: bigint, ...amounts: readonly [bigint, bigint]) => ofManager('increase', id, ...amounts),
    decrease: (id: bigint, liquidity: bigint) => ofManager('decrease', id, liquidity),
    stake: ({ gauge }: Slipstream, id: bigint) =>
      [ofManager('approve', gauge, id), [gauge, data(artifacts.clGauge, 'deposit', id)] as const] as const,
    atGauge: ({ gauge }: Slipstream, name: string, ...args: unknown[]) =>
      [gauge, data(artifacts.clGauge, name, ...args)] as const,
    async liquidityOf(chain: TestChain, id: bigint): Promise<bigint> {
      const { abi } = artifacts.clManager
      const stored = await chain.client.readContract({
        address: venue.manager,
        abi,
        functionName: 'positions',
        args: [id],
      })
      return (stored as readonly bigint[])[7] ?? 0n
    },
  }
}
