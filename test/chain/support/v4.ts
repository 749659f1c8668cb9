import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  getAddress,
  type Hex,
  maxUint128,
  maxUint256,
  parseAbiParameters,
  zeroAddress,
} from 'viem'
import { type Call, callOf, type TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import { type Protocol, sorted, squareRoot, type TestToken } from './protocol.ts'

/** The chain's own coin, as pools of Uniswap v4 hold it. */
export const coin: TestToken = { address: zeroAddress, symbol: 'ETH', decimals: 18 }

/** The parameters that identify a pool. */
export interface PoolKey {
  readonly currency0: Address
  readonly currency1: Address
  readonly fee: number
  readonly tickSpacing: number
  readonly hooks: Address
}

/** Uniswap v4 on a local node. */
export type V4 = Awaited<ReturnType<typeof deployV4>>

/** A call that a vault makes: the contract and the data. */
type VaultCall = readonly [Address, Hex]

const mintParameters = parseAbiParameters([
  'PoolKey key, int24 lower, int24 upper, uint256 liquidity, uint128 most0, uint128 most1, address to, bytes hookData',
  'struct PoolKey { address currency0; address currency1; uint24 fee; int24 tickSpacing; address hooks; }',
])
const modifyParameters = parseAbiParameters('uint256, uint256, uint128, uint128, bytes')
const burnParameters = parseAbiParameters('uint256, uint128, uint128, bytes')
const settleParameters = parseAbiParameters('address, uint256, bool')
const takeParameters = parseAbiParameters('address, address, address')
const sweepParameters = parseAbiParameters('address, address')

/** @see Uniswap v4 Periphery, Actions.sol */
const actions = { increase: 0, decrease: 1, mint: 2, burn: 3, settle: 0x0b, takePair: 0x11, sweep: 0x14 } as const

type Step = readonly [action: number, params: Hex]

/** Wide range of the pools' liquidity, beyond which no trade moves the price. */
const widest = 887_220
const [leastPrice, greatestPrice] = [4_295_128_740n, 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341n]

export async function deployV4(chain: TestChain, protocol: Protocol) {
  const [deployer, , , , trader] = chain.accounts as [Address, Address, Address, Address, Address]
  const deploy = (artifact: artifacts.Artifact, ...args: unknown[]): Promise<Address> =>
    chain.deploy(deployer, artifacts.creationOf(artifact, ...args))
  const poolManager = await deploy(artifacts.v4PoolManager, deployer)
  const createManager = (): Promise<Address> =>
    deploy(artifacts.v4PositionManager, poolManager, zeroAddress, 300_000n, zeroAddress, zeroAddress)
  const manager = await createManager()
  const [liquidity, swapper, donor] = [
    await deploy(artifacts.v4Liquidity, poolManager),
    await deploy(artifacts.v4Swap, poolManager),
    await deploy(artifacts.v4Donate, poolManager),
  ]
  for (const account of [deployer, trader]) {
    await chain.block(
      ...protocol.tokens.flatMap((token) =>
        [liquidity, swapper, donor].map((spender) => protocol.approve(account, token, spender)),
      ),
    )
  }
  await chain.request({ method: 'anvil_setBalance', params: [deployer, `0x${(10n ** 26n).toString(16)}`] })
  await chain.request({ method: 'anvil_setBalance', params: [trader, `0x${(10n ** 26n).toString(16)}`] })

  /** Creates a pool at the price that follows from two amounts of equal value, with wide liquidity. */
  const createPool = async (
    base: readonly [TestToken, bigint],
    quote: readonly [TestToken, bigint],
    { fee = 500, tickSpacing = 10, hooks = zeroAddress }: Partial<Pick<PoolKey, 'fee' | 'tickSpacing' | 'hooks'>> = {},
  ): Promise<PoolKey> => {
    const [[token0, units0], [token1, units1]] = sorted([base, quote])
    const key = { currency0: token0.address, currency1: token1.address, fee, tickSpacing, hooks }
    const price = squareRoot((units1 << 192n) / units0)
    const edge = Math.floor(widest / tickSpacing) * tickSpacing
    const amount = squareRoot(units0 * units1) * 5_000n
    const params = { tickLower: -edge, tickUpper: edge, liquidityDelta: amount, salt: `0x${'00'.repeat(32)}` }
    await chain.block(
      callOf(deployer, poolManager, artifacts.v4PoolManager.abi, 'initialize', [key, price]),
      withCoin(callOf(deployer, liquidity, artifacts.v4Liquidity.abi, 'modifyLiquidity', [key, params, '0x']), key),
    )
    return key
  }

  return {
    poolManager,
    manager,
    /** The contract that takes the tokens of pools. */
    liquidity,
    createManager,
    createPool,
    /** Deploys a hook without effect at an address whose last bits are its flags. */
    async createHook(flags: number): Promise<Address> {
      const address = getAddress(`0x${'ab'.repeat(18)}${flags.toString(16).padStart(4, '0')}`)
      await chain.request({ method: 'anvil_setCode', params: [address, artifacts.v4Hooks.deployed] })
      return address
    },
    /** Swaps an exact input amount of a token, as the trader. */
    swap(key: PoolKey, from: TestToken, units: bigint): Call {
      const zeroForOne = from.address === key.currency0
      const params = { zeroForOne, amountSpecified: -units, sqrtPriceLimitX96: zeroForOne ? leastPrice : greatestPrice }
      const settings = { takeClaims: false, settleUsingBurn: false }
      const call = callOf(trader, swapper, artifacts.v4Swap.abi, 'swap', [key, params, settings, '0x'])
      return from === coin ? { ...call, value: units } : call
    },
    donate(key: PoolKey, units0: bigint, units1: bigint): Call {
      const call = callOf(trader, donor, artifacts.v4Donate.abi, 'donate', [key, units0, units1, '0x'])
      return key.currency0 === zeroAddress ? { ...call, value: units0 } : call
    },
    /** Returns the id of the next position. */
    nextId: async (of = manager): Promise<bigint> =>
      (await chain.client.readContract({
        address: of,
        abi: artifacts.v4PositionManager.abi,
        functionName: 'nextTokenId',
      })) as bigint,
    liquidityOf: async (id: bigint): Promise<bigint> =>
      (await chain.client.readContract({
        address: manager,
        abi: artifacts.v4PositionManager.abi,
        functionName: 'getPositionLiquidity',
        args: [id],
      })) as bigint,
  }
}

/** Returns calls by which an account changes positions, paid from tokens that it sends to the manager before. */
export function v4CallsOf(manager: Address, account: Address) {
  const settled = ({ currency0, currency1 }: PoolKey): Step[] => [
    ...[currency0, currency1].map((one): Step => [
      actions.settle,
      encodeAbiParameters(settleParameters, [one, 0n, false]),
    ]),
    ...[currency0, currency1].map((one): Step => [actions.sweep, encodeAbiParameters(sweepParameters, [one, account])]),
  ]
  const modified = (action: number, id: bigint, liquidity: bigint, most: bigint): Step => [
    action,
    encodeAbiParameters(modifyParameters, [id, liquidity, most, most, '0x']),
  ]
  const taken = ({ currency0, currency1 }: PoolKey): Step => [
    actions.takePair,
    encodeAbiParameters(takeParameters, [currency0, currency1, account]),
  ]
  return {
    fund: (token: TestToken, units: bigint): VaultCall => [
      token.address,
      encodeFunctionData({ abi: artifacts.token.abi, functionName: 'transfer', args: [manager, units] }),
    ],
    mint(key: PoolKey, [lower, upper]: readonly [number, number], liquidity: bigint, to = account): VaultCall {
      const values = [key, lower, upper, liquidity, maxUint128, maxUint128, to, '0x'] as const
      return call(manager, [actions.mint, encodeAbiParameters(mintParameters, values)], ...settled(key))
    },
    increase: (key: PoolKey, id: bigint, liquidity: bigint): VaultCall =>
      call(manager, modified(actions.increase, id, liquidity, maxUint128), ...settled(key)),
    decrease: (key: PoolKey, id: bigint, liquidity: bigint): VaultCall =>
      call(manager, modified(actions.decrease, id, liquidity, 0n), taken(key)),
    collect: (key: PoolKey, id: bigint): VaultCall => call(manager, modified(actions.decrease, id, 0n, 0n), taken(key)),
    burn: (key: PoolKey, id: bigint): VaultCall =>
      call(manager, [actions.burn, encodeAbiParameters(burnParameters, [id, 0n, 0n, '0x'])], taken(key)),
    transfer: (to: Address, id: bigint): VaultCall => [
      manager,
      encodeFunctionData({
        abi: artifacts.v4PositionManager.abi,
        functionName: 'transferFrom',
        args: [account, to, id],
      }),
    ],
  }
}

function call(manager: Address, ...steps: readonly Step[]): VaultCall {
  const codes = encodePacked(
    steps.map(() => 'uint8'),
    steps.map(([action]) => action),
  )
  const data = encodeAbiParameters(parseAbiParameters('bytes, bytes[]'), [codes, steps.map(([, params]) => params)])
  return [
    manager,
    encodeFunctionData({
      abi: artifacts.v4PositionManager.abi,
      functionName: 'modifyLiquidities',
      args: [data, maxUint256],
    }),
  ]
}

/** Adds payment in the native coin to a call where the pool holds it; the remainder is returned. */
function withCoin(one: Call, { currency0 }: PoolKey): Call {
  return currency0 === zeroAddress ? { ...one, value: 10n ** 24n } : one
}
