import { type Address, toAddress } from '../address.ts'
import { InvalidAddress } from '../errors.ts'

/** An object that has a global id, by its own key. */
export type IdentifiedObject =
  | { readonly type: 'Vault'; readonly vault: Address; readonly at: number | null }
  | { readonly type: 'Position'; readonly vault: Address; readonly at: number | null; readonly positionId: string }
  | { readonly type: 'LedgerRow'; readonly vault: Address; readonly txHash: string; readonly logIndex: number }
  | { readonly type: 'Strategy'; readonly id: string }

/**
 * Global id of a vault: its address, and of a vault at a moment in the past also `@` and that moment, so that it is another
 * object to clients' caches than the vault as it is now.
 * @param at Unix seconds; null for the vault as it is now
 */
export function vaultGlobalId(vault: string, at: number | null): string {
  return at === null ? vault : `${vault}@${at}`
}

/**
 * Global id of a position: that of its vault, `/position/` and the identifier that its marks give it.
 * @param at as for `vaultGlobalId`
 */
export function positionGlobalId(vault: string, positionId: string, at: number | null = null): string {
  return `${vaultGlobalId(vault, at)}/position/${positionId}`
}

/** Global id of a row of the ledger: its vault's address, `/event/`, the hash of its transaction and its log index. */
export function ledgerRowGlobalId(vault: string, txHash: string, logIndex: number): string {
  return `${vault}/event/${txHash}/${logIndex}`
}

/** Whether a text has the form of the id of a vault or of what belongs to one, so that no strategy may have it. */
export function isVaultScopedId(text: string): boolean {
  return /^0x[0-9a-f]{40}(?:[/@]|$)/i.test(text)
}

const vaultScoped =
  /^(?<address>0x[0-9a-fA-F]{40})(?:@(?<moment>0|[1-9]\d{0,11}))?(?:\/position\/(?<positionId>.+)|\/event\/(?<txHash>0x[0-9a-fA-F]{64})\/(?<logIndex>0|[1-9]\d{0,9}))?$/s
const maxLogIndex = 2_147_483_647
const maxTime = 253_402_300_799

/**
 * Reads a global id. Hex digits may be in any case that addresses and hashes may be in.
 * @returns null where no object can have it
 * @see https://relay.dev/graphql/objectidentification.htm
 */
export function parseGlobalId(text: string): IdentifiedObject | null {
  // PostgreSQL stores no NUL, and UTF-8 has no half of a surrogate pair.
  if (text === '' || text.includes('\0') || !text.isWellFormed()) return null
  if (!isVaultScopedId(text)) return { type: 'Strategy', id: text }
  const { address = '', moment, positionId, txHash, logIndex } = vaultScoped.exec(text)?.groups ?? {}
  const vault = addressOrNull(address)
  if (vault === null) return null
  const at = moment === undefined ? null : Number(moment)
  if (at !== null && (at > maxTime || txHash !== undefined)) return null
  if (positionId !== undefined) return { type: 'Position', vault, at, positionId }
  if (txHash === undefined) return { type: 'Vault', vault, at }
  const index = Number(logIndex)
  return index > maxLogIndex ? null : { type: 'LedgerRow', vault, txHash: txHash.toLowerCase(), logIndex: index }
}

function addressOrNull(text: string): Address | null {
  try {
    return toAddress(text)
  } catch (error) {
    if (error instanceof InvalidAddress) return null
    throw error
  }
}
