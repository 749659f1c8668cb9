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

/** The outcomes of calls that were made by one request. */
export interface AggregatedResults {
  readonly results: readonly CallResult[]
  /**
   * Whether each call had a million gas, so that those which failed did so by themselves. A contract can use up the gas
   * of the calls after it, and calls without gas fail with the same empty data as functions that are not there.
   */
  readonly hadGas: boolean
}

/**
 * Makes calls by one request to Multicall3, and behind them one that takes a million gas: as it succeeds, there was so
 * much left for each call before it.
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
 * The precompiled contract that checks pairings takes 45,000 gas, and 34,000 for each pair, of which those of zeros take
 * no time.
 * @see EIP-197, EIP-1108
 */
const pairingCheck = 8
const pairs = 4
const probedCalls = 6

const word = (value: number): Hex => numberToHex(value, { size: 32 })

/** Calls it several times, by a list whose entries all refer to the same call behind it, which makes it short. */
const gasProbe: Hex = concatHex([
  toFunctionSelector('aggregate3((address,bool,bytes)[])'),
  word(32),
  word(probedCalls),
  ...Array.from({ length: probedCalls }, () => word(32 * probedCalls)),
  // The contract, that it must not fail, and its data: where they begin, their length, and zeros.
  ...[word(pairingCheck), word(0), word(96), word(192 * pairs)],
  ...Array.from({ length: 6 * pairs }, () => word(0)),
])

/** Where the precompiled contract is not there, the calls succeed too, with empty answers. */
const probeAnswer: Hex = encodeFunctionResult({
  abi: multicall3Abi,
  functionName,
  result: Array.from({ length: probedCalls }, () => ({ success: true, returnData: word(1) })),
})
