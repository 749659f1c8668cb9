import { type Hex, isAddress, isHex } from 'viem'
import type { ResumePoint } from '../reader.ts'
import type { LateVault } from './set-aside.ts'

/**
 * Position in a chain: the first block of the last second with facts, and the number of lines of all seconds before it.
 * Resuming there repeats the facts of that second, which are known.
 */
export interface ChainPosition {
  readonly line: number
  /** Number of the block. */
  readonly byte: number
  /** Hash of the block, and what else {@link ChainProgress} has. */
  readonly fingerprint: string
}

/** How far a chain has been read. */
export interface ChainProgress {
  readonly block: ResumePoint
  /** The vaults that are behind that block. */
  readonly late: readonly LateVault[]
  /**
   * Whether the database had facts of its vaults when the feed began, by another file or version: they are not read again.
   */
  readonly skipsApplied: boolean
}

const skipping = 'skips-applied'
/** Rises where facts become others than those of earlier versions of the program. */
const version = 'v3'

/** Encodes how far a chain has been read. */
export function encodePosition(line: number, { block, late, skipsApplied }: ChainProgress): ChainPosition {
  const entries = late.map(({ address, number, hash }) => `${address}@${number}@${hash}`)
  const fingerprint = [block.hash, version, ...(skipsApplied ? [skipping] : []), ...entries].join(' ')
  return { line, byte: block.number, fingerprint }
}

/** Decodes a stored position. */
export function decodePosition({ byte, fingerprint }: ChainPosition): ChainProgress {
  const [hash = '', ...rest] = fingerprint.split(' ')
  const late = rest.flatMap((entry): LateVault[] => {
    const [address = '', number = '', blockHash = ''] = entry.split('@')
    return isAddress(address) && isHex(blockHash) ? [{ address, number: Number(number), hash: blockHash }] : []
  })
  return {
    block: { number: byte, hash: hash as Hex },
    late,
    skipsApplied: rest.includes(skipping) || !rest.includes(version),
  }
}
