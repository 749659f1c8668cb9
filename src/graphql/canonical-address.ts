import { toAddress } from '../domain/address.ts'
import { InvalidAddress } from '../domain/errors.ts'

/** Returns an address as it is served, whatever its spelling; a text that is none is returned as it is. */
export function canonicalAddress(text: string): string {
  try {
    return toAddress(text)
  } catch (error) {
    if (error instanceof InvalidAddress) return text
    throw error
  }
}
