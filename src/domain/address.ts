import { checksumAddress } from 'viem'
import { InvalidAddress } from './errors.ts'

/** An EVM address, checksummed by EIP-55. */
export type Address = `0x${string}`

/**
 * Validates an EVM address and returns it in its canonical form, checksummed by EIP-55.
 * @param text `0x` and 40 hex digits, in one case or, if mixed, with a correct checksum
 * @throws {InvalidAddress} when the format or the checksum is wrong; names the problem
 * @see EIP-55, https://eips.ethereum.org/EIPS/eip-55
 */
export function toAddress(text: string): Address {
  return recent.get(text) ?? keep(text, earlier.get(text) ?? validated(text))
}

function validated(text: string): Address {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new InvalidAddress(text, 'it is not 0x and 40 hex digits')
  const digits = text.slice(2)
  const lower = digits.toLowerCase()
  const checksummed = checksumAddress(`0x${lower}`)
  const oneCase = digits === lower || digits === digits.toUpperCase()
  if (!oneCase && text !== checksummed) throw new InvalidAddress(text, `its EIP-55 checksum is wrong`)
  return checksummed
}

/**
 * Cache of addresses by their original text, because feeds repeat addresses and the Keccak-256 hash dominates the cost
 * of validation. Of its two generations, the earlier one is evicted when the recent one is full.
 */
let recent = new Map<string, Address>()
let earlier = new Map<string, Address>()
const maxOfGeneration = 5_000

function keep(text: string, address: Address): Address {
  if (recent.size >= maxOfGeneration) {
    earlier = recent
    recent = new Map()
  }
  // A copy: a substring of a document or path would keep all of it in memory.
  recent.set(Array.from(text).join(''), address)
  return address
}
