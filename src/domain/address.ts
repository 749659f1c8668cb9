import { checksumAddress } from 'viem'
import { InvalidAddress } from './errors.ts'

/** A checksummed address. */
export type Address = `0x${string}`

/**
 * Checks an EVM address and gives it in its one written form, checksummed by EIP-55.
 * @param text `0x` and 40 hex digits, in one case or, mixed, with a right checksum
 * @throws {InvalidAddress} naming what is wrong with it
 */
export function toAddress(text: string): Address {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new InvalidAddress(text, 'it is not 0x and 40 hex digits')
  const digits = text.slice(2)
  const lower = digits.toLowerCase()
  const checksummed = known.get(lower) ?? learn(lower)
  const oneCase = digits === lower || digits === digits.toUpperCase()
  if (!oneCase && text !== checksummed) throw new InvalidAddress(text, `its EIP-55 checksum is wrong`)
  return checksummed
}

/** Addresses come again and again, and hashing is most of what one takes. */
const known = new Map<string, Address>()
const mostKnown = 10_000

function learn(lower: string): Address {
  const checksummed = checksumAddress(`0x${lower}`)
  const [oldest] = known.keys()
  if (known.size >= mostKnown && oldest !== undefined) known.delete(oldest)
  known.set(lower, checksummed)
  return checksummed
}
