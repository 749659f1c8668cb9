import type { Address } from '../domain/address.ts'
import type { ChainConfig, VaultConfig } from './config.ts'
import type { BlockFactsOptions } from './facts/block-values.ts'
import type { Header } from './rpc/block.ts'
import type { Report } from './rpc/fault-watch.ts'

/** Maximum number of retries where logs and contracts disagree. */
export const maxRereads = 5
/** Pause before a retry, in milliseconds. */
export const rereadMilliseconds = 1_000

/** Returns whether all facts of a vault up to a time are applied. */
export type IsApplied = (vault: Address, ts: number) => boolean

/** The block to resume from: the first block of a second with facts. */
export type ResumePoint = Pick<Header, 'number' | 'hash'>

/** The connections to a chain, and the contract data that were read for its configuration. */
export interface ChainConnection extends BlockFactsOptions {
  readonly config: ChainConfig
  readonly report: Report
  readonly signal: AbortSignal
  /** Ends at the newest final block instead of waiting for more. */
  readonly once: boolean
}

/** Vaults that are read together, and the block to resume from: null for the first block of the first vault. */
export interface VaultGroup {
  readonly vaults: readonly VaultConfig[]
  readonly from: ResumePoint | null
}

/** Which part of the facts of vaults is read. */
export interface Reading {
  /** Identifies applied facts, which are not read again. */
  readonly isApplied: IsApplied
  /** Ends before this block: the first block of a second, which one of the nodes has reported as final. */
  readonly until?: number | undefined
  /**
   * Called with the finalized head when it has been read, and all of its facts have been consumed; reading continues when the
   * listener is done.
   */
  readonly onHead?: ((head: Header) => Promise<void>) | undefined
}

/** One of the attempts to read vaults, the later ones of which trust the nodes less. */
export interface ReadAttempt {
  /** Reads the logs of the backfill block by block, too: answers about ranges have been incomplete. */
  readonly distrustsRanges: boolean
  /** Whether a log that can't be decoded is its contract's fault, rather than that of one node. */
  readonly blamesContract: boolean
  /** Called with the number of a block when the facts of all blocks up to it have been read and consumed. */
  readonly onRead: (block: number) => void
}
