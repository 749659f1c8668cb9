import { type Hex, isAddress, isHex } from 'viem'
import type { ResumePoint } from './reading.ts'
import type { LateVault } from './vault-groups/set-aside.ts'

/**
 * Position in a chain: the first block of the last second with facts, and the number of lines of all earlier seconds.
 * Resuming repeats the facts of that second, which the database recognises.
 */
export interface ChainPosition {
  readonly line: number
  /** Number of the block. */
  readonly block: number
  /** Hash of the block, and the other fields of {@link ChainCursor}. */
  readonly fingerprint: string
}

/** Cursor in a chain: where a restart resumes. It is stored as a {@link ChainPosition}. */
export interface ChainCursor {
  readonly block: ResumePoint
  /** The vaults that lag behind that block. */
  readonly late: readonly LateVault[]
  /** Whether the database already had facts of these vaults, from another file or version, which are skipped. */
  readonly skipsApplied: boolean
}

const skipping = 'skips-applied'
/** Increased when the program derives different facts than earlier versions. */
const version = 'v5'

/** Encodes a cursor. */
export function encodePosition(line: number, { block, late, skipsApplied }: ChainCursor): ChainPosition {
  const entries = late.map(({ address, number, hash }) => `${address}@${number}@${hash}`)
  const fingerprint = [block.hash, version, ...(skipsApplied ? [skipping] : []), ...entries].join(' ')
  return { line, block: block.number, fingerprint }
}

/** Decodes the cursor of a stored position. */
export function decodePosition({ block, fingerprint }: ChainPosition): ChainCursor {
  const [hash = '', ...rest] = fingerprint.split(' ')
  const late = rest.flatMap((entry): LateVault[] => {
    const [address = '', number = '', blockHash = ''] = entry.split('@')
    return isAddress(address) && isHex(blockHash) ? [{ address, number: Number(number), hash: blockHash }] : []
  })
  return {
    block: { number: block, hash: hash as Hex },
    late,
    skipsApplied: rest.includes(skipping) || !rest.includes(version),
  }
}
