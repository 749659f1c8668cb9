import type { Address, Hex } from 'viem'
import type { Rpc } from './rpc.ts'

/** How often no code has to be told: a node that errs may say so too. */
const tellings = 3

/** Whether there is a contract at an address, at a block. */
export async function contractExists(rpc: Rpc, address: Address, blockHash: Hex): Promise<boolean> {
  for (let told = 0; told < tellings; told++) {
    if ((await rpc.ask((node) => node.code(address, blockHash))) !== '0x') return true
  }
  return false
}
