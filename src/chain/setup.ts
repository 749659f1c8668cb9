import type { ChainConfig } from './config.ts'
import { BadChainConfig } from './errors.ts'
import { finalBlock } from './rpc/finality.ts'
import { readTokens } from './valuation/tokens.ts'
import type { ReaderOptions } from './reader.ts'
import { contractExists } from './rpc/contract-existence.ts'
import { connectRpc, type RpcRetryOptions, type Report } from './rpc/rpc.ts'
import { BlockState } from './rpc/multicall.ts'
import { uniswapV3 } from './venues/uniswap-v3.ts'

/** Options for reading a chain. */
export interface ChainOptions {
  /** Name of the configuration file in messages. */
  readonly file: string
  readonly config: ChainConfig
  readonly report: Report
  readonly signal: AbortSignal
  /** Ends at the newest final block instead of waiting for more. */
  readonly once: boolean
  readonly retry?: RpcRetryOptions
}

/**
 * Connects to a chain and validates the configuration against it.
 * @throws {BadChainConfig} with every problem
 */
export async function connectChain({
  file,
  config,
  report,
  signal,
  once,
  retry,
}: ChainOptions): Promise<ReaderOptions> {
  const rpc = connectRpc(config, report, signal, retry)
  const { multicall } = config
  const block = await finalBlock(rpc, config.finality)
  const missing = await Promise.all(
    (['multicall', 'positionManager'] as const).map(async (key) => {
      const isThere = await contractExists(rpc, config[key], block.hash)
      return isThere ? [] : [`${key} ${config[key]} has no code at block ${block.number}`]
    }),
  )
  if (missing.flat().length > 0) throw new BadChainConfig(file, missing.flat())
  const tokens = await readTokens(file, config, new BlockState(rpc, multicall, block))
  return { rpc, multicall, venue: uniswapV3(config.positionManager), tokens, config, report, signal, once }
}
