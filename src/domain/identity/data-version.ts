/** A data version, which names a commit: its text, `seq.nonce`, and the number that orders the commits of one history. */
export interface DataVersion {
  readonly seq: number
  readonly text: string
}

/**
 * Parses a data version from outside.
 * @returns null for any other text; the digits are limited, because sequence numbers must be safe integers
 */
export function parseDataVersion(text: string): DataVersion | null {
  const [, seq] = pattern.exec(text) ?? []
  return seq === undefined ? null : { seq: Number(seq), text }
}

/** Source of a regular expression that matches data versions; the first group is the sequence number. */
export const dataVersionPattern = '([1-9]\\d{0,14})\\.\\d{1,19}'

const pattern = new RegExp(`^${dataVersionPattern}$`)

/** Returns the sequence number of a stored data version; 0 for the empty one before the first commit. */
export function seqOf(version: string): number {
  return Number(version.slice(0, version.indexOf('.')))
}

/** Returns the nonce of a stored data version: unlike the sequence number, it is unique over all histories. */
export function nonceOf(version: string): string {
  return version.slice(version.indexOf('.') + 1)
}

/** The order of a data version and another one: by number in one history; equal numbers of different nonces are of different histories. */
export type VersionOrder = 'same' | 'older' | 'newer' | 'of another history'

/** Returns the order of a stored data version relative to another one. */
export function compareVersions(version: string, other: string): VersionOrder {
  if (version === other) return 'same'
  const difference = seqOf(version) - seqOf(other)
  return difference === 0 ? 'of another history' : difference < 0 ? 'older' : 'newer'
}
