import { toAddress } from '../domain/address.ts'
import { InvalidAddress } from '../domain/errors.ts'

/** Returns the served form of an address in any spelling; text that is not an address is returned unchanged. */
export function canonicalAddress(text: string): string {
  try {
    return toAddress(text)
  } catch (error) {
    if (error instanceof InvalidAddress) return text
    throw error
  }
}
