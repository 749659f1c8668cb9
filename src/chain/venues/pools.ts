import { type Address, parseAbi, zeroAddress } from 'viem'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { poolAbi } from './pool.ts'
import type { PoolProtocol } from './venue.ts'

const protocolAbi = parseAbi(['function lmPool() view returns (address)', 'function gauge() view returns (address)'])

/** Traits of a pool, which never change. */
export interface PoolTraits {
  readonly protocol: PoolProtocol
  /** The contract that takes positions of the pool into custody and pays emissions for them; null where there is none. */
  readonly gauge: Address | null
}

/** The pools of a chain: each one's protocol is told by the functions that it answers, and read once. */
export class Pools {
  readonly #traits = new Map<Address, Promise<PoolTraits>>()

  /** @throws {ContractMismatch} when there is no pool */
  traitsOf(state: BlockState, pool: Address): Promise<PoolTraits> {
    const known = this.#traits.get(pool) ?? readTraits(state, pool)
    this.#traits.set(pool, known)
    known.catch(() => this.#traits.delete(pool))
    return known
  }
}

/**
 * @see PancakeSwap v3 Core, PancakeV3Pool.sol `lmPool`; Slipstream, CLPool.sol `gauge`
 */
async function readTraits(state: BlockState, pool: Address): Promise<PoolTraits> {
  const [gauge, lmPool] = await Promise.all([
    state.read(contractCall(protocolAbi, pool, 'gauge', [])),
    state.read(contractCall(protocolAbi, pool, 'lmPool', [])),
    // An address without a pool answers neither.
    state.readRequired(contractCall(poolAbi, pool, 'token0', [])),
  ])
  if (gauge !== null) return { protocol: 'slipstream', gauge: gauge === zeroAddress ? null : gauge }
  return { protocol: lmPool === null ? 'uniswap-v3' : 'pancakeswap-v3', gauge: null }
}
