import { setTimeout as wait } from 'node:timers/promises'
import type { Address } from '../domain/address.ts'
import type { ChainConfig, VaultConfig } from './config.ts'
import { BadChainConfig, ContractMismatch, Contradiction, LogsIncomplete } from './errors.ts'
import type { BlockFactsOptions, PriceConsequence } from './facts/block-values.ts'
import { finalBlock } from './rpc/finality.ts'
import { Acquisitions } from './valuation/acquisitions.ts'
import { readTokens } from './valuation/tokens.ts'
import { type ChainConnection, maxRereads, rereadMilliseconds } from './reading.ts'
import type { SetAsideVault } from './vault-groups/set-aside.ts'
import { compareLogNumbers } from './rpc/newest/log-numbers.ts'
import { NewestBlocks } from './rpc/newest/newest-blocks.ts'
import { contractCall } from './rpc/calls/contract-call.ts'
import { contractExists, isMulticall } from './rpc/contract-existence.ts'
import type { Report } from './rpc/fault-watch.ts'
import type { Node } from './rpc/node.ts'
import { connectNodes, connectRpc, type Rpc, type RpcRetryOptions } from './rpc/rpc.ts'
import { BlockState, Multicall } from './rpc/multicall.ts'
import { VaultKinds } from './vaults/vault-kinds.ts'
import { nftPositions, readIsSlipstream } from './venues/nft-positions.ts'
import { poolAbi } from './venues/pool.ts'
import { poolPositions } from './venues/pool-positions.ts'
import { Pools } from './venues/pools.ts'
import { readPoolManager, v4Positions } from './venues/v4/v4-positions.ts'
import type { Venue } from './venues/venue.ts'
import { Venues } from './venues/venues.ts'

/** Maximum number of old blocks at which a pool that no longer exists is looked up. */
const maxFirstStates = 16

/** Minimum time between two log messages about the same missing price. */
const repeatedAfterMilliseconds = 300_000

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
   * Called with the problem when a fault of the nodes lasts, and with null when it has ended. A reader that does not
   * follow the chain throws instead.
   */
  readonly onLastingFault?: ((problem: string | null) => void) | undefined
  /** Called with all vaults that are set aside, at the start and whenever there is another one. */
  readonly onSetAside?: ((vaults: readonly SetAsideVault[]) => void) | undefined
  /** Vaults that are not read because the feed has refused one of their facts, with the reasons. */
  readonly refused?: ReadonlyMap<Address, string>
}

/**
 * Connects to a chain and validates the configuration against it.
 * @param isResumed whether the chain was read before with the same tokens
 * @throws {BadChainConfig} with every problem
 * @throws {LogsIncomplete} where the newest final block is replaced again and again
 */
export async function connectChain(options: ChainOptions, isResumed: boolean): Promise<ChainConnection> {
  const nodes = connectNodes(options.config.rpc)
  for (let rereads = 0; ; rereads++) {
    const ending = new AbortController()
    const signal = AbortSignal.any([options.signal, ending.signal])
    try {
      return await connectAtNewest({ ...options, signal }, nodes, isResumed)
    } catch (error) {
      // Other requests of this attempt are still in flight.
      ending.abort()
      if (!(error instanceof Contradiction)) throw error
      // The newest final block was reorganised: connect again.
      if (rereads >= maxRereads) throw new LogsIncomplete(error.message)
      options.report('warn', 'The chain is read again', { reason: error.message })
      await wait(rereadMilliseconds, undefined, { signal: options.signal })
    }
  }
}

async function connectAtNewest(
  { file, config, report, signal, once, retry, onLastingFault = () => undefined }: ChainOptions,
  nodes: readonly Node[],
  isResumed: boolean,
): Promise<ChainConnection> {
  const newest = new NewestBlocks()
  const shared = { report, signal, retry, nodes, newest }
  const rpc = connectRpc(config, { ...shared, onLastingFault, givesUp: once })
  const impatientRpc = connectRpc(config, { ...shared, onLastingFault: () => undefined, givesUp: true })
  const multicall = new Multicall(config.multicall)
  const block = await finalBlock(rpc, config.finality)
  // Not awaited: a node may be slow.
  void compareLogNumbers(rpc, block, report)
  const managers = [config.positionManager, ...(config.otherPositionManagers ?? [])]
  const missing = await Promise.all(
    [config.multicall, ...managers].map(async (address, index) => {
      const isThere = await contractExists(rpc, address, block)
      const key = index === 0 ? 'multicall' : managerKey(index - 1)
      return isThere ? [] : [`${key} ${address} has no code at block ${block.number}`]
    }),
  )
  if (missing.flat().length > 0) throw new BadChainConfig(file, missing.flat())
  if (!(await isMulticall(rpc, config.multicall, block))) {
    throw new BadChainConfig(file, [`multicall ${config.multicall} is no Multicall3: it doesn't answer aggregate3()`])
  }
  const state = new BlockState(rpc, multicall, block)
  const firsts = (): Promise<BlockState[]> => firstStates(config, rpc, multicall, block.number)
  const tokens = await readTokens(file, config, state, isResumed ? null : firsts, (problem) =>
    report('warn', `A token has no price: ${problem}. Vaults that acquire it are set aside until it has one`, { file }),
  )
  const noPools = (await Promise.all(config.vaults.map((vault, index) => poolProblems(state, vault, index)))).flat()
  // Other vaults are read in any case.
  for (const problem of noPools) report('warn', `A contract among the pools of a vault is none: ${problem}`, { file })
  const kinds = new VaultKinds(config.vaults)
  await kinds.resolve(state)
  const pools = new Pools()
  const nfts = await Promise.all(
    managers.map(async (address, index): Promise<Venue | string> => {
      const contract = { address, prefix: index === 0 ? '' : `${address}:` }
      const poolManager = await readPoolManager(state, address)
      if (poolManager !== null) return v4Positions({ ...contract, poolManager })
      try {
        return nftPositions({ ...contract, pools, isSlipstream: await readIsSlipstream(state, address) })
      } catch (error) {
        if (!(error instanceof ContractMismatch)) throw error
        return `${managerKey(index)} ${address} is no position manager: it ${error.problem}`
      }
    }),
  )
  const wrong = nfts.filter((nft) => typeof nft === 'string')
  if (wrong.length > 0) throw new BadChainConfig(file, wrong)
  const venues = new Venues([
    ...nfts.filter((nft) => typeof nft !== 'string'),
    poolPositions({ pools: () => kinds.pools, known: pools, vaultOf: (account) => kinds.vaultOf(account) }),
  ])
  const acquisitions = new Acquisitions({ venues, kinds, tokens })
  const connected = { rpc, impatientRpc, multicall, venues, kinds, tokens, acquisitions }
  return { ...connected, onPriceMissing: reportSeldom(report), config, report, signal, once }
}

function managerKey(index: number): string {
  return index === 0 ? 'positionManager' : 'otherPositionManagers'
}

/** Returns the problems of a vault's configured pools that are other contracts; a pool may be created later. */
async function poolProblems(state: BlockState, { pools = [] }: VaultConfig, vault: number): Promise<string[]> {
  const problems = pools.map(async (pool, index) => {
    const calls = [contractCall(poolAbi, pool, 'slot0', []), contractCall(poolAbi, pool, 'token0', [])] as const
    const [slot0, token0] = await Promise.all([state.read(calls[0]), state.read(calls[1])])
    if ((slot0 !== null && token0 !== null) || !(await contractExists(state.rpc, pool, state.block))) return []
    const silent = slot0 === null ? 'slot0' : 'token0'
    return [`vaults[${vault}].pools[${index}] ${pool} doesn't answer ${silent}()`]
  })
  return (await Promise.all(problems)).flat()
}

const consequences: Readonly<Record<PriceConsequence, string>> = {
  mark: 'Marks wait for a price',
  flow: 'Capital and fees are valued at an earlier price',
  gift: 'Tokens that others have sent to a vault count as nothing',
}

/** Returns a function that reports missing prices, for each token and consequence at most once per interval. */
function reportSeldom(report: Report): BlockFactsOptions['onPriceMissing'] {
  const reported = new Map<string, number>()
  return ({ symbol, message }, consequence, vault) => {
    const now = performance.now()
    const key = `${consequence} ${symbol}`
    if (now - (reported.get(key) ?? -Infinity) < repeatedAfterMilliseconds) return
    reported.set(key, now)
    report('warn', `${consequences[consequence]}: ${message}`, { token: symbol, ...(vault && { vault }) })
  }
}

/** Returns the states after the first blocks of vaults, the newest first. */
async function firstStates(
  { vaults }: ChainConfig,
  rpc: Rpc,
  multicall: Multicall,
  newest: number,
): Promise<BlockState[]> {
  const numbers = [...new Set(vaults.map(({ firstBlock }) => firstBlock))].filter((number) => number < newest)
  const some = numbers.sort((a, b) => b - a).slice(0, maxFirstStates)
  const blocks = await Promise.all(some.map((number) => rpc.ask((node) => node.block(number))))
  return blocks.map((block) => new BlockState(rpc, multicall, block))
}
