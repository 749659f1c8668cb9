import {
  type Address,
  concatHex,
  decodeFunctionResult,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  numberToHex,
  toFunctionSelector,
} from 'viem'
import { NodeFault } from '../../errors.ts'
import type { Node } from '../node.ts'

const functionName = 'aggregate3'

/** The outcome of one call. */
export interface CallResult {
  readonly success: boolean
  readonly returnData: Hex
}

/** The outcomes of calls in one request. */
export interface AggregatedResults {
  readonly results: readonly CallResult[]
  /**
   * Whether each call had a million gas, so that none failed because earlier calls used up the gas. A call without gas
   * fails with the same empty data as a call of a missing function.
   */
  readonly hadGas: boolean
}

/**
 * Makes calls by one request to Multicall3, followed by a probe that takes a million gas: if the probe succeeds, each
 * call before it had at least that much gas.
 * @returns null where there is no contract at that address
 * @see https://github.com/mds1/multicall3, aggregate3
 */
export async function aggregate(
  node: Node,
  multicall: Address,
  calls: readonly { readonly to: Address; readonly data: Hex }[],
  blockHash: Hex,
): Promise<AggregatedResults | null> {
  const inputs = [...calls, { to: multicall, data: gasProbe }].map(({ to, data }) => ({
    target: to,
    allowFailure: true,
    callData: data,
  }))
  const data = encodeFunctionData({ abi: multicall3Abi, functionName, args: [inputs] })
  const answer = await node.call(multicall, data, blockHash)
  if (answer === '0x') return null
  const results = decodeFunctionResult({ abi: multicall3Abi, functionName, data: answer })
  if (results.length !== inputs.length) throw new NodeFault('gave fewer answers than there were calls')
  return { results: results.slice(0, -1), hadGas: results.at(-1)?.returnData === probeAnswer }
}

/**
 * Address of the pairing check precompile. It takes 45,000 gas, and 34,000 for each pair; pairs of zeros take no time.
 * @see EIP-197, EIP-1108
 */
const pairingCheck = 8
const pairs = 4
const probedCalls = 6

const word = (value: number): Hex => numberToHex(value, { size: 32 })

/** Calls the precompile several times. The array's offsets all refer to the same call data, which keeps it short. */
const gasProbe: Hex = concatHex([
  toFunctionSelector('aggregate3((address,bool,bytes)[])'),
  word(32),
  word(probedCalls),
  ...Array.from({ length: probedCalls }, () => word(32 * probedCalls)),
  // Target, allowFailure = false, and the call data: offset, length, and zeros.
  ...[word(pairingCheck), word(0), word(96), word(192 * pairs)],
  ...Array.from({ length: 6 * pairs }, () => word(0)),
])

/** Without the precompile the calls succeed too, with empty return data. */
const probeAnswer: Hex = encodeFunctionResult({
  abi: multicall3Abi,
  functionName,
  result: Array.from({ length: probedCalls }, () => ({ success: true, returnData: word(1) })),
})
