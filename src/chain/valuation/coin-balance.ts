import { type Address, multicall3Abi } from 'viem'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'

/** Reads the balance of the chain's native coin: by Multicall3, or by eth_getBalance at a block before its creation. */
export async function readCoinBalance(state: BlockState, account: Address): Promise<bigint> {
  const { rpc, multicall, block } = state
  const call = contractCall(multicall3Abi, multicall.address, 'getEthBalance', [account])
  const told = await state.readIfThere(call, null)
  return told ?? rpc.askAt(block, (node) => node.balance(account, block.hash))
}
