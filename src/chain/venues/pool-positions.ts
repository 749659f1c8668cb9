import { type Address, decodeEventLog, getAddress, type Hex, padHex, parseAbi, toEventSelector } from 'viem'
import { Contradiction } from '../errors.ts'
import { inChunks } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { Amounts, TickRange } from './liquidity-math.ts'
import { findPoolAccount, poolAbi, valuePosition } from './pool.ts'
import type { Pools } from './pools.ts'
import type { PositionChange, PositionTerms, Venue } from './venue.ts'

const poolEvents = parseAbi([
  'event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'event Collect(address indexed owner, address recipient, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount0, uint128 amount1)',
])
const topics = poolEvents.map(toEventSelector)

/** Maximum number of topics or addresses in a filter: providers accept some hundreds. */
const maxInFilter = 200

/** The terms that all positions of a pool share. */
type PoolTerms = Omit<PositionTerms, 'ticks'>

/** A position that an account holds directly in a pool. */
export interface PoolPosition {
  readonly pool: Address
  readonly owner: Address
  readonly ticks: TickRange
}

/** Returns the id of a position: its pool, owner and ticks. */
export function poolPositionId({ pool, owner, ticks }: PoolPosition): string {
  return `${pool}:${owner}:${ticks.lower}:${ticks.upper}`
}

/** Parses the id of a position; null for a position of another venue. */
export function parsePoolPositionId(id: string): PoolPosition | null {
  const [pool, owner, lower, upper] = id.split(':')
  if (pool === undefined || owner === undefined || lower === undefined || upper === undefined) return null
  return { pool: pool as Address, owner: owner as Address, ticks: { lower: Number(lower), upper: Number(upper) } }
}

/** Options of {@link poolPositions}. */
export interface PoolPositionsOptions {
  /** Returns the pools in which vaults hold positions directly. */
  readonly pools: () => readonly Address[]
  /** Cache of the pools' protocols. */
  readonly known: Pools
  /** Returns the vault of an account; undefined for any other account. */
  readonly vaultOf: (account: Address) => Address | undefined
}

/**
 * Creates the venue of positions that accounts hold directly in pools. A pool has one position for each owner and
 * range, and no list of them.
 * @see Uniswap v3 Core, UniswapV3Pool.sol `mint`, `burn`, `collect`, `positions`
 */
export function poolPositions({ pools, known, vaultOf }: PoolPositionsOptions): Venue {
  const terms = new Map<Address, PoolTerms>()

  /** Returns the immutable tokens and fee of a pool; Slipstream's fee changes, and is read again in valuations. */
  const termsOf = async (state: BlockState, pool: Address): Promise<PoolTerms | null> => {
    const read = terms.get(pool) ?? (await findTerms(state, pool))
    if (read !== null) terms.set(pool, read)
    return read
  }

  return {
    name: 'positions in pools themselves',
    get contracts() {
      return pools()
    },
    topics,
    has: (id) => parsePoolPositionId(id) !== null,
    decodeLog: (log) => decodeLog(log, pools(), vaultOf),
    movesOf(owners) {
      const padded = owners.map((owner) => padHex(owner, { size: 32 }))
      return inChunks(pools(), maxInFilter).flatMap((address) =>
        inChunks(padded, maxInFilter).map((some): LogFilter => ({ address, topics: [topics, some] })),
      )
    },
    changesOf: () => [],
    async readStored(state, id) {
      const place = parsePoolPositionId(id)
      if (place === null) return null
      const { pool, owner, ticks } = place
      const [account, pair] = await Promise.all([findPoolAccount(state, pool, owner, ticks), termsOf(state, pool)])
      return account && pair && { ...pair, ticks, ...account }
    },
    async positionOf(state, id, stored) {
      const { pool, owner } = parsePoolPositionId(id) as PoolPosition
      const protocol = await known.protocolOf(state, pool)
      return valuePosition(state, { pool, owner, protocol }, stored)
    },
  }
}

/** Reads the tokens and fee of a pool; null where the pool does not exist. */
async function findTerms(state: BlockState, pool: Address): Promise<PoolTerms | null> {
  const [token0, token1, feeTier] = await Promise.all([
    state.readIfThere(contractCall(poolAbi, pool, 'token0', []), null),
    state.readIfThere(contractCall(poolAbi, pool, 'token1', []), null),
    state.readIfThere(contractCall(poolAbi, pool, 'fee', []), null),
  ])
  return token0 === null || token1 === null || feeTier === null ? null : { token0, token1, feeTier }
}

/** @throws {Contradiction} when the contents of a log about a vault do not match its topic */
function decodeLog(
  log: ChainLog,
  pools: readonly Address[],
  vaultOf: PoolPositionsOptions['vaultOf'],
): PositionChange | null {
  if (!topics.includes(log.topics[0] ?? '0x') || log.topics.length !== 4) return null
  const pool = getAddress(log.address)
  if (!pools.includes(pool)) return null
  const decoded = decode(log)
  if (decoded === null) {
    const vault = vaultOf(getAddress(`0x${(log.topics[1] ?? '').slice(26)}`))
    if (vault === undefined) return null
    const problem = `at block ${log.block} the pool ${pool} has logged an event in another form than its standard`
    throw new Contradiction(problem, vault)
  }
  const { eventName, args } = decoded
  const { owner, tickLower: lower, tickUpper: upper } = args
  const id = poolPositionId({ pool, owner, ticks: { lower, upper } })
  const amounts: Amounts = [args.amount0, args.amount1]
  if (eventName === 'Collect') return { kind: 'collected', id, amounts, account: { owner, isByOwner: true } }
  const { amount: liquidity } = args
  if (eventName === 'Burn') return { kind: 'decreased', id, liquidity, amounts, account: { owner, isByOwner: true } }
  return { kind: 'increased', id, liquidity, amounts, account: { owner, isByOwner: args.sender === owner } }
}

function decode({ topics, data }: ChainLog) {
  try {
    return decodeEventLog({ abi: poolEvents, topics: topics as [Hex, ...Hex[]], data })
  } catch {
    return null
  }
}
