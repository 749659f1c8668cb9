import { parseAbi } from 'viem'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Custody, TokenUnits } from './venue.ts'

const gaugeAbi = parseAbi([
  'function earned(address account, uint256 tokenId) view returns (uint256)',
  'function rewards(uint256 tokenId) view returns (uint256)',
  'function rewardToken() view returns (address)',
  'function stakedContains(address depositor, uint256 tokenId) view returns (bool)',
])

/**
 * Returns whether a gauge holds a position for an account.
 * @throws {ContractMismatch} when the gauge does not answer
 */
export function isStaked(state: BlockState, { custodian, account }: Custody, tokenId: bigint): Promise<boolean> {
  return state.readRequired(contractCall(gaugeAbi, custodian, 'stakedContains', [account, tokenId]))
}

/**
 * Reads the claimable emissions of a staked position: `earned` since its last change, `rewards` up to it.
 * @see Slipstream, CLGauge.sol `earned`, `rewards`, `getReward`
 */
export async function readEmissions(
  state: BlockState,
  { custodian, account }: Custody,
  tokenId: bigint,
): Promise<TokenUnits> {
  const [token, earned, stored] = await Promise.all([
    state.readRequired(contractCall(gaugeAbi, custodian, 'rewardToken', [])),
    state.readRequired(contractCall(gaugeAbi, custodian, 'earned', [account, tokenId])),
    state.read(contractCall(gaugeAbi, custodian, 'rewards', [tokenId])),
  ])
  return { token, units: earned + (stored ?? 0n) }
}
