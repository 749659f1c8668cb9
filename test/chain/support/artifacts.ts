import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { type Abi, encodeDeployData, type Hex } from 'viem'

/** A compiled contract. */
export interface Artifact {
  readonly abi: Abi
  readonly bytecode: Hex
}

const require = createRequire(import.meta.url)
const published = (file: string): Artifact => read(require.resolve(`@uniswap/${file}.json`))
const ofPancake = (name: string): Artifact =>
  read(require.resolve(`@pancakeswap/v3-core/artifacts/contracts/${name}.sol/${name}.json`))
const own = (name: string): Artifact => read(path.join(import.meta.dirname, '../contracts', `${name}.json`))
/** Reads a contract from a package with artifacts of Foundry. */
function compiled(file: string): Artifact & { readonly deployed: Hex } {
  const name = path.basename(file)
  type Compiled = Record<'bytecode' | 'deployedBytecode', { object: Hex }> & Pick<Artifact, 'abi'>
  const text = readFileSync(require.resolve(`@uniswap/${file}.sol/${name}.json`), 'utf8')
  const { abi, bytecode, deployedBytecode } = JSON.parse(text) as Compiled
  return { abi, bytecode: bytecode.object, deployed: deployedBytecode.object }
}

export const factory = published('v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory')
export const pool = published('v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool')
export const manager = published(
  'v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager',
)
export const router = published('v3-periphery/artifacts/contracts/SwapRouter.sol/SwapRouter')
export const pancakeFactory = ofPancake('PancakeV3Factory')
export const pancakePool = ofPancake('PancakeV3Pool')
export const v4PoolManager = compiled('v4-core/out/PoolManager')
export const v4PositionManager = compiled('v4-periphery/foundry-out/PositionManager')
export const v4Liquidity = compiled('v4-core/out/PoolModifyLiquidityTest')
export const v4Swap = compiled('v4-core/out/PoolSwapTest')
export const v4Donate = compiled('v4-core/out/PoolDonateTest')
export const v4Hooks = compiled('v4-core/out/MockHooks')
export const v4Payout = own('V4Payout')
export const coinVault = own('CoinVault')
export const poolDeployer = own('PoolDeployer')
export const pancakeTrader = own('PancakeTrader')
export const slipstreamFactory = own('SlipstreamFactory')
export const slipstreamPool = own('SlipstreamPool')
export const clManager = own('ClManager')
export const clGauge = own('ClGauge')
export const clPayout = own('ClPayout')
export const asyncVault = own('AsyncVault')
export const cancelVault = own('CancelVault')
export const beefyVault = own('BeefyVault')
export const beefyStrategy = own('BeefyStrategy')
export const token = own('Token')
export const feeToken = own('FeeToken')
export const rebasingToken = own('RebasingToken')
export const vault = own('Vault')
export const feeVault = own('FeeVault')
export const lendingVault = own('LendingVault')
export const gammaVault = own('GammaVault')
export const charmVault = own('CharmVault')
export const ichiVault = own('IchiVault')
export const boastfulVault = own('BoastfulVault')
export const payout = own('Payout')
export const donor = own('Donor')
export const feed = own('Feed')
export const multicall: Artifact = { ...own('Multicall3'), abi: [] }

/** Returns the data of the transaction that creates the contract. */
export function creationOf({ abi, bytecode }: Artifact, ...args: readonly unknown[]): Hex {
  return encodeDeployData({ abi, bytecode, args })
}

function read(file: string): Artifact {
  return JSON.parse(readFileSync(file, 'utf8')) as Artifact
}
