import { LRUCache } from 'lru-cache'
import { Canceller } from '../../database/cancellation.ts'
import { type LimitConcurrency, limitConcurrency } from '../../fairness/limit-concurrency.ts'
import type { VersionLimits } from '../../limits.ts'
import type { OnDisconnect } from '../cache/productions.ts'
import type { DataVersions, VersionAt } from '../cache/data-versions.ts'

/** The turn of a look-up did not come in time. */
export class TurnMissed extends Error {
  constructor() {
    super('Too many requests ask for old versions at once.')
  }
}

/** The version of the current history with a sequence number; null if there is none. */
export interface FoundVersion {
  readonly version: string | null
}

/**
 * Looks up the versions of the current history: recent ones are in memory, older ones are read from the commit log. Few
 * are read at once, senders take turns, and requests for one version share its read.
 */
export class VersionLookups {
  readonly #versions: DataVersions
  readonly #versionAt: VersionAt
  readonly #milliseconds: number
  readonly #limit: LimitConcurrency
  /** Versions that are being read, or were read since notifications began. */
  readonly #read: LRUCache<number, FoundVersion | Promise<FoundVersion>>

  /** @param limits `lookups` versions are read at once, each after at most `waitMilliseconds`; `known` are remembered */
  constructor(versions: DataVersions, versionAt: VersionAt, limits: VersionLimits) {
    this.#versions = versions
    this.#versionAt = versionAt
    this.#milliseconds = limits.waitMilliseconds
    this.#limit = limitConcurrency(limits.lookups)
    this.#read = new LRUCache({ max: limits.known })
    versions.onChange(() => {
      if (!versions.isListening) this.#read.clear()
    })
  }

  /** Returns what is known of a sequence number, or its read in progress; undefined if it has to be read. */
  known(seq: number): FoundVersion | Promise<FoundVersion> | undefined {
    const recent = this.#versions.known(seq)
    return recent === undefined ? this.#read.get(seq) : { version: recent }
  }

  /**
   * Reads a version in the sender's turn. Rejects if the database does not respond.
   * @throws {TurnMissed} if its turn does not come in time, or the client has disconnected before
   */
  async read(seq: number, sender: string, onDisconnect: OnDisconnect): Promise<FoundVersion> {
    const canceller = new Canceller()
    const cancel = (): void => canceller.abort()
    const timer = setTimeout(cancel, this.#milliseconds)
    onDisconnect(cancel)
    const { found } = await this.#limit(sender, () => this.#inTurn(seq), canceller)
      .catch((error: unknown) => {
        throw canceller.aborted ? new TurnMissed() : error
      })
      .finally(() => clearTimeout(timer))
    return found
  }

  /** Reads a version, unless it was read while the turn was awaited: what is shared takes no part of the limit. */
  async #inTurn(seq: number): Promise<{ readonly found: FoundVersion | Promise<FoundVersion> }> {
    const known = this.known(seq)
    if (known !== undefined) return { found: known }
    const found = this.#lookUp(seq)
    await found.catch(() => undefined)
    return { found }
  }

  #lookUp(seq: number): Promise<FoundVersion> {
    const lookup = this.#versionAt(seq).then((version) => ({ version }))
    this.#read.set(seq, lookup)
    const replace = (by: FoundVersion | undefined): void => {
      if (this.#read.peek(seq) === lookup) this.#read.set(seq, by)
    }
    lookup.then(replace, () => replace(undefined))
    return lookup
  }
}
