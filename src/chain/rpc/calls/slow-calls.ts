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
 * Handles the errors of one request for several calls, which is retried at each node in turn. A node may take too long
 * for the calls together, or for a single one.
 */
export class SlowRequest {
  readonly #slow = new Set<Node>()

  constructor(readonly place: CallPlace) {}

  /**
   * Handles the error of a node.
   * @returns `reverted` where the request was executed and reverted; `too slow` when this node times out for the second
   * time, after all others failed too, while it answers another call at the block
   * @throws any other error
   */
  async failed(node: Node, error: unknown): Promise<'reverted' | 'too slow'> {
    if (isRevert(error)) return 'reverted'
    if (!isTooSlow(error) || !(await answersOthers(node, this.place))) throw error
    if (this.#slow.has(node)) return 'too slow'
    this.#slow.add(node)
    throw error
  }
}

/**
 * Handles the error of a request for one call.
 * @returns `reverted` where it was executed and reverted
 * @throws {CallTooSlow} that names the contract, where the call takes a node too long that answers another one at the block
 */
export async function failedAlone(
  node: Node,
  error: unknown,
  { to, name }: ContractCall<unknown>,
  place: CallPlace,
): Promise<'reverted'> {
  // A contract may write anything into the reason of its revert.
  if (isRevert(error)) return 'reverted'
  if (!isTooSlow(error) || !(await answersOthers(node, place))) throw error
  throw new CallTooSlow(name, to, place.block.number, { cause: error })
}

/** Returns whether a node answers the gas probe at a block: a node that is too slow for all calls does not. */
function answersOthers(node: Node, { block, multicall }: CallPlace): Promise<boolean> {
  return aggregate(node, multicall, [], block.hash).then(
    (answer) => answer !== null,
    () => false,
  )
}
