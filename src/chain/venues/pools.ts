import { type Address, parseAbi, zeroAddress } from 'viem'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { poolAbi } from './pool.ts'
import type { PoolProtocol } from './venue.ts'

const protocolAbi = parseAbi(['function lmPool() view returns (address)', 'function gauge() view returns (address)'])

/** The gauge of a pool, and a block at which the gauge existed. */
interface KnownGauge {
  readonly gauge: Address
  readonly block: number
}

/** The protocols and gauges of pools. A pool's protocol is determined once, by the functions that the pool answers. */
export class Pools {
  readonly #protocols = new Map<Address, Promise<PoolProtocol>>()
  readonly #gauges = new Map<Address, KnownGauge>()

  /**
   * Reads the protocol of a pool, which never changes.
   * @throws {ContractMismatch} when there is no pool
   */
  protocolOf(state: BlockState, pool: Address): Promise<PoolProtocol> {
    const known = this.#protocols.get(pool) ?? readProtocol(state, pool)
    this.#protocols.set(pool, known)
    known.catch(() => this.#protocols.delete(pool))
    return known
  }

  /**
   * Reads the contract that takes positions of a pool into custody and pays emissions for them. Null where there is
   * none yet: a pool gets its gauge once, often long after its creation.
   * @see Slipstream, CLPool.sol `setGaugeAndPositionManager`
   */
  async gaugeOf(state: BlockState, pool: Address): Promise<Address | null> {
    const known = this.#gauges.get(pool)
    const { number: block } = state.block
    if (known !== undefined && known.block <= block) return known.gauge
    const gauge = await state.read(contractCall(protocolAbi, pool, 'gauge', []))
    if (gauge === null || gauge === zeroAddress) return null
    this.#gauges.set(pool, { gauge, block })
    return gauge
  }
}

/**
 * @see PancakeSwap v3 Core, PancakeV3Pool.sol `lmPool`; Slipstream, CLPool.sol `gauge`
 */
async function readProtocol(state: BlockState, pool: Address): Promise<PoolProtocol> {
  const [gauge, lmPool] = await Promise.all([
    state.read(contractCall(protocolAbi, pool, 'gauge', [])),
    state.read(contractCall(protocolAbi, pool, 'lmPool', [])),
    // Fails for an address without a pool, which answers neither.
    state.readRequired(contractCall(poolAbi, pool, 'token0', [])),
  ])
  if (gauge !== null) return 'slipstream'
  return lmPool === null ? 'uniswap-v3' : 'pancakeswap-v3'
}
