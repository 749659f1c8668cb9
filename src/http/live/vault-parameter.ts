import { canonicalAddress } from '../../graphql/canonical-address.ts'
import { preparationCosts } from '../../limits.ts'
import { Problem } from '../../rest/problem.ts'
import type { Exchange } from '../middleware.ts'
import { type AdmitPreparation, prepareStream } from './prepare-stream.ts'

/**
 * Returns the served forms of the addresses in the parameter `vault` of a stream, in any spelling. They are converted under
 * admission control: an address that is not known costs a hash.
 * @returns the problem of an address with a wrong checksum, or of too much work that waits
 */
export function servedAddresses(
  admission: AdmitPreparation,
  exchange: Exchange,
  vaults: readonly string[],
): Promise<readonly string[] | Problem> {
  const cost = vaults.length * preparationCosts.variableValue
  return prepareStream(admission, exchange, cost, () => canonicalAddresses(vaults))
}

function canonicalAddresses(vaults: readonly string[]): readonly string[] | Problem {
  const served = vaults.map(canonicalAddress)
  const wrong = vaults.find((vault, at) => served[at] !== canonicalAddress(vault.toLowerCase()))
  if (wrong === undefined) return served
  const detail = `vault: ${JSON.stringify(wrong)} is not an address: its EIP-55 checksum is wrong`
  return new Problem('BAD_PARAMETER', detail, { parameter: 'vault' })
}
