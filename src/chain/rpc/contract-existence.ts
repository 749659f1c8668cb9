import { type Address, decodeFunctionResult, encodeFunctionData, multicall3Abi } from 'viem'
import { revertedOrThrow } from './faults.ts'
import type { BlockId, Rpc } from './rpc.ts'

/**
 * Number of responses without code that confirm that a contract does not exist, each of the next node: one may be out of
 * sync.
 */
export const emptyConfirmations = 3

/** Returns whether there is a contract at an address at the end of a block. */
export async function contractExists(rpc: Rpc, address: Address, block: BlockId): Promise<boolean> {
  const askInTurn = rpc.askInTurnAt(block)
  for (let confirmed = 0; confirmed < emptyConfirmations; confirmed++) {
    if ((await askInTurn((node) => node.code(address, block.hash))) !== '0x') return true
  }
  return false
}

/** Returns whether the contract at an address is a Multicall3: it answers an empty list of calls. */
export async function isMulticall(rpc: Rpc, address: Address, block: BlockId): Promise<boolean> {
  const functionName = 'aggregate3'
  const data = encodeFunctionData({ abi: multicall3Abi, functionName, args: [[]] })
  const askInTurn = rpc.askInTurnAt(block)
  for (let reading = 0; reading < emptyConfirmations; reading++) {
    const answer = await askInTurn((node) => node.call(address, data, block.hash).catch(revertedOrThrow))
    try {
      if (answer === 'reverted') continue
      if (decodeFunctionResult({ abi: multicall3Abi, functionName, data: answer }).length === 0) return true
    } catch {
      // Another contract, or a node that is out of sync.
    }
  }
  return false
}
