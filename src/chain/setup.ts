import type { ChainConfig } from './config.ts'
import { BadChainConfig } from './errors.ts'
import { finalBlock } from './rpc/finality.ts'
import { readTokens } from './valuation/tokens.ts'
import type { ReaderOptions } from './reader.ts'
import { contractExists } from './rpc/contract-existence.ts'
import type { Report } from './rpc/fault-watch.ts'
import { connectRpc, type RpcRetryOptions } from './rpc/rpc.ts'
import { BlockState, Multicall } from './rpc/multicall.ts'
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
  /**
   * Called with the problem of the nodes when one lasts, and with null when it has ended. A reader that does not follow
   * the chain ends with an error instead.
   */
  readonly onLastingFault?: ((problem: string | null) => void) | undefined
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
  onLastingFault = () => undefined,
}: ChainOptions): Promise<ReaderOptions> {
  const rpc = connectRpc(config, { report, signal, retry, onLastingFault, givesUp: once })
  const multicall = new Multicall(config.multicall)
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
