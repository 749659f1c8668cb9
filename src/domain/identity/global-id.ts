import { type Address, toAddress } from '../address.ts'
import { InvalidAddress } from '../errors.ts'

/** The type and key of an object with a global id. */
export type IdentifiedObject =
  | { readonly type: 'Vault'; readonly vault: Address; readonly at: number | null }
  | { readonly type: 'Position'; readonly vault: Address; readonly at: number | null; readonly positionId: string }
  | { readonly type: 'LedgerRow'; readonly vault: Address; readonly txHash: string; readonly logIndex: number }
  | { readonly type: 'Strategy'; readonly id: string }

/**
 * Returns the global id of a vault: its address, with `@` and the moment for a vault in the past, so that clients'
 * caches distinguish it from the current vault.
 * @param at Unix seconds; null for the current vault
 */
export function vaultGlobalId(vault: string, at: number | null): string {
  return at === null ? vault : `${vault}@${at}`
}

/**
 * Returns the global id of a position: that of its vault, `/position/` and its identifier in marks.
 * @param at as for `vaultGlobalId`
 */
export function positionGlobalId(vault: string, positionId: string, at: number | null = null): string {
  return `${vaultGlobalId(vault, at)}/position/${positionId}`
}

/** Returns the global id of a ledger row: its vault's address, `/event/`, its transaction hash and its log index. */
export function ledgerRowGlobalId(vault: string, txHash: string, logIndex: number): string {
  return `${vault}/event/${txHash}/${logIndex}`
}

/** Returns whether a text looks like the id of a vault or of its parts, which no strategy may have. */
export function isVaultScopedId(text: string): boolean {
  return /^0x[0-9a-f]{40}(?:[/@]|$)/i.test(text)
}

const vaultScoped =
  /^(?<address>0x[0-9a-fA-F]{40})(?:@(?<moment>0|[1-9]\d{0,11}))?(?:\/position\/(?<positionId>.+)|\/event\/(?<txHash>0x[0-9a-fA-F]{64})\/(?<logIndex>0|[1-9]\d{0,9}))?$/s
const maxLogIndex = 2_147_483_647
const maxTime = 253_402_300_799

/**
 * Parses a global id. Hex digits have the same case rules as in addresses and hashes.
 * @returns null if no object can have this id
 * @see https://relay.dev/graphql/objectidentification.htm
 */
export function parseGlobalId(text: string): IdentifiedObject | null {
  // PostgreSQL cannot store NUL, and UTF-8 cannot encode half of a surrogate pair.
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
