import type { Address } from 'viem'
import type { BlockId, Rpc } from './rpc.ts'

/** Number of nodes that must report no code before it is believed, because a node may be out of sync. */
export const confirmations = 3

/** Tells whether there is a contract at an address at the end of a block. */
export async function contractExists(rpc: Rpc, address: Address, block: BlockId): Promise<boolean> {
  for (let confirmed = 0; confirmed < confirmations; confirmed++) {
    if ((await rpc.askAt(block, (node) => node.code(address, block.hash))) !== '0x') return true
  }
  return false
}
