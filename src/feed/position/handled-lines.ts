import { type FeedPosition, isSamePosition, type LockedPosition, offsetOf } from '../../database/write/feed.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import type { Fact } from '../fact/fact.ts'
import { isFurtherOn } from '../reading/prefix-digest.ts'
import { CommitsLost, type SeenPosition } from './expected-state.ts'

/** The first lines of a source, which earlier runs of the feed have handled: a fact there that is not known was set aside. */
export interface HandledPrefix {
  /** End of the prefix in bytes of the decompressed feed; 0 where nothing is known to have been handled. */
  readonly bytes: number
  /** Position of the feed in the database when the source was opened; null where nothing was applied. */
  readonly storedBefore: FeedPosition | null
  /** Whether no lines followed it when the source was opened: all that were set aside are tried again. */
  readonly coversFile: boolean
  /** Addresses of the vaults that its lines open. */
  readonly opened: ReadonlySet<string>
}

/** Returns the prefix of a source of which nothing is known to have been handled. */
export function noHandledPrefix(stored: FeedPosition | null): HandledPrefix {
  return { bytes: 0, storedBefore: stored, coversFile: false, opened: new Set() }
}

/**
 * Returns the end of the lines of a source that are proven to be handled by the state of the database, in bytes of the decompressed
 * feed.
 * @param prefix as it was when the source was opened; undefined for a source that can't be compared with a position
 * @param stored position of the feed, locked: another process may have moved it since, maybe in another file, and a failover may
 *   have reset it
 * @param lastPosition the last position that the run saw
 * @param positions the positions after the lines of the batch
 * @returns 0 where no line is proven to be handled
 * @throws {CommitsLost} when the position is before the end of the prefix: some of its lines count as handled no more, and the source
 *   must be compared with the position again. Never where no lines followed the prefix
 */
export function handledEnd(
  prefix: HandledPrefix | undefined,
  stored: LockedPosition | null,
  lastPosition: SeenPosition,
  positions: readonly FeedPosition[],
): number {
  if (prefix === undefined) return 0
  const isUnmoved = isOneOf([prefix.storedBefore, lastPosition ?? null], stored)
  if (isUnmoved) return prefix.bytes
  const end = stored === null ? 0 : offsetOf(stored)
  if (isInSource(stored, prefix, positions)) return end
  // If all lines are tried again anyway, a lower position needs no new start: `lockVerifiedPosition` finds lost commits.
  if (!prefix.coversFile && end < prefix.bytes) throw new CommitsLost(stored)
  return 0
}

/** Returns whether there is a stored position, and it is one of some positions. */
function isOneOf(positions: readonly (FeedPosition | null)[], stored: LockedPosition | null): boolean {
  return stored !== null && positions.some((one) => isSamePosition(one, stored))
}

/** Returns whether a position that another process has moved is known to be in the source: in a batch of it, or beyond that. */
function isInSource(
  stored: LockedPosition | null,
  { bytes, storedBefore }: HandledPrefix,
  positions: readonly FeedPosition[],
): boolean {
  if (stored === null) return false
  if (isOneOf(positions, stored)) return true
  const last = positions.at(-1)
  // Another run is ahead of the batch, in a file that contains what was applied.
  return (bytes > 0 || storedBefore === null) && last !== undefined && isFurtherOn(stored, last)
}

/** Times of the newest known facts of vaults, in Unix seconds, by address. */
export type NewestTimes = ReadonlyMap<string, number>

/**
 * The handled lines of a batch. Facts that were set aside are tried again, unless they could be newer than facts that follow in
 * the feed: those of vaults that have other facts than those that were read before the line.
 */
export class HandledLines {
  readonly #end: number
  readonly #readBefore: NewestTimes
  readonly #readNow = new Map<string, number>()
  /** The vaults that the handled lines open, and those that the batch opens. */
  readonly #opened: ReadonlySet<string>
  readonly #openedNow: ReadonlySet<string>

  /**
   * @param end of the handled lines, in bytes of the decompressed feed
   * @param readBefore of the handled lines before the batch
   * @param opened addresses of the vaults that the handled lines open, as far as these were known when the source was opened
   * @param facts of the batch
   */
  constructor(end: number, readBefore: NewestTimes, opened: ReadonlySet<string>, facts: readonly Fact[]) {
    this.#end = end
    this.#readBefore = readBefore
    this.#opened = opened
    this.#openedNow = new Set(facts.flatMap((fact) => (fact.kind === 'vault' ? [fact.vault] : [])))
  }

  /** Returns whether the line before a position was handled. */
  has(position: FeedPosition): boolean {
    return offsetOf(position) <= this.#end
  }

  /** Records a fact that is known, or is applied now. */
  record(fact: Fact): void {
    if ('vault' in fact) this.#readNow.set(fact.vault, Math.max(fact.ts, this.#newestOf(fact.vault) ?? 0))
  }

  /**
   * Returns whether a fact that is not known remains set aside.
   * @param vault the vault that it is about, as it is before the fact; undefined where there is none
   */
  remainsSetAside(fact: Fact, vault: VaultRecord | undefined): boolean {
    // It overtakes no newer fact of its vault.
    if (!('vault' in fact) || fact.kind === 'vault' || vault === undefined) return false
    const newest = this.#newestOf(fact.vault)
    if (newest !== undefined) return vault.updatedAt > newest
    // It is opened by a line that follows, or by another feed.
    return hasFacts(vault) || this.#opened.has(fact.vault) || this.#openedNow.has(fact.vault)
  }

  #newestOf(vault: string): number | undefined {
    return this.#readNow.get(vault) ?? this.#readBefore.get(vault)
  }
}

/** Returns whether a vault has facts after that of its opening. */
function hasFacts({ openedAt, updatedAt, equityAt, ledgerBlock }: VaultRecord): boolean {
  return updatedAt > openedAt || equityAt !== null || ledgerBlock !== null
}
