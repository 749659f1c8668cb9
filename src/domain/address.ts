import { getAddress } from 'viem/utils'
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
  const checksummed = getAddress(`0x${digits.toLowerCase()}`)
  const oneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  if (!oneCase && text !== checksummed) throw new InvalidAddress(text, `its EIP-55 checksum is wrong`)
  return checksummed
}
