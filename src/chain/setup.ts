import type { ChainConfig } from './config.ts'
import { BadChainConfig } from './errors.ts'
import { finalBlock } from './finality.ts'
import { readTokens } from './market.ts'
import type { ReaderOptions } from './reader.ts'
import { connectRpc, type Report } from './rpc.ts'
import { BlockState } from './state.ts'
import { uniswapV3 } from './venue/uniswap-v3.ts'

export interface ChainOptions {
  /** What messages call chain.json. */
  readonly file: string
  readonly config: ChainConfig
  readonly report: Report
  readonly signal: AbortSignal
  /** Ends at the newest final block instead of waiting for more. */
  readonly once: boolean
}

/**
 * Connects to the chain and holds the configuration against it.
 * @throws {BadChainConfig} naming every problem
 */
export async function connectChain({ file, config, report, signal, once }: ChainOptions): Promise<ReaderOptions> {
  const rpc = connectRpc(config, report, signal)
  const { multicall } = config
  const block = await finalBlock(rpc, config.finality)
  const missing = await Promise.all(
    (['multicall', 'positionManager'] as const).map(async (key) => {
      const code = await rpc.ask((node) => node.code(config[key], block.hash))
      return code === '0x' ? [`${key} ${config[key]} has no code at block ${block.number}`] : []
    }),
  )
  if (missing.flat().length > 0) throw new BadChainConfig(file, missing.flat())
  const tokens = await readTokens(file, config, new BlockState(rpc, multicall, block))
  return { rpc, multicall, venue: uniswapV3(config.positionManager), tokens, config, report, signal, once }
}
