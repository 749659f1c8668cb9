import type { Address } from 'viem'
import { CallTooSlow } from '../../errors.ts'
import { isRevert, isTooSlow } from '../faults.ts'
import type { Node } from '../node.ts'
import type { BlockId } from '../rpc.ts'
import { aggregate } from './aggregate.ts'
import type { ContractCall } from './contract-call.ts'

/** The block of calls, and the Multicall3 contract for a test whether a node answers other calls at that block. */
export interface CallPlace {
  readonly block: BlockId
  readonly multicall: Address
}

/**
 * Handles the errors of one request for calls, which nodes repeat in turn. A node may take too long for all of them
 * together, or for one that is among them.
 */
export class SlowRequest {
  readonly #slow = new Set<Node>()

  constructor(readonly place: CallPlace) {}

  /**
   * Handles the error of a node.
   * @returns `reverted` where the request was executed and reverted; `too slow` where it takes this node too long for the
   * second time, so that no other one has done better, while it answers another call at the block
   * @throws any other error, and the first of this node: another one may answer sooner than this one answers anything else
   */
  async failed(node: Node, error: unknown): Promise<'reverted' | 'too slow'> {
    // A contract may write anything into the reason of its revert.
    if (isRevert(error)) return 'reverted'
    if (!isTooSlow(error)) throw error
    const isSecond = this.#slow.has(node)
    this.#slow.add(node)
    if (isSecond && (await answersOthers(node, this.place))) return 'too slow'
    throw error
  }

  /**
   * Handles the error of a node where the request is for one call.
   * @returns `reverted` where it was executed and reverted
   * @throws {CallTooSlow} that names the contract, where the request is too slow
   */
  async failedAlone(node: Node, error: unknown, { to, name }: ContractCall<unknown>): Promise<'reverted'> {
    const outcome = await this.failed(node, error)
    if (outcome === 'reverted') return outcome
    throw new CallTooSlow(name, to, this.place.block.number, { cause: error })
  }
}

/** Returns whether a node answers the gas probe at a block: a node that is too slow for all calls does not. */
function answersOthers(node: Node, { block, multicall }: CallPlace): Promise<boolean> {
  return aggregate(node, multicall, [], block.hash).then(
    (answer) => answer !== null,
    () => false,
  )
}
