/** A version as the gateway sends it: its number orders the versions of one history, its mark tells histories apart. */
const versionText = /^([1-9]\d{0,14})\.\d{1,19}$/

/**
 * Whether shown data is that of a polled version: it is not older, it is of an older version and may have changed since, or
 * it may be of another history.
 */
export type Freshness = 'current' | 'older' | 'replaced'

/**
 * Versions of the data that the page has seen. Its stream, polls and queries may reach different processes of the
 * gateway, of which one may lag behind another, or receive no commits.
 */
export class SeenVersions {
  #newest: string | null = null
  /** Lowest version of the answers since the last refresh; null if one has none, undefined before the first answer. */
  #lowest: string | null | undefined
  #wasBehind = false

  /** The newest version, which no further answer should be older than; null while it is unknown. */
  get newest(): string | null {
    return this.#newest
  }

  /** Handles the version of an event; null, or another text than a version, where there is none. */
  saw(version: string | null): void {
    const seq = seqOf(version)
    if (seq !== 0 && seq >= seqOf(this.#newest)) this.#newest = version
  }

  /** Handles the version of an answer that is shown; null where it has none. */
  answered(version: string | null): void {
    this.saw(version)
    if (this.#lowest === undefined || seqOf(version) < seqOf(this.#lowest)) this.#lowest = version
  }

  /** Must be called when all shown data is about to be read again. */
  refreshed(): void {
    this.#lowest = undefined
  }

  /** Handles a version that the gateway has refused as not part of the history: data of this history may be shown. */
  lost(version: string): void {
    if (this.#newest === version) this.#newest = null
    this.#lowest = null
  }

  /**
   * Handles the version in a poll. A gateway that is behind the newest version in two successive polls may never reach
   * it, such as after a restore: from then on the newest version is the polled one.
   * @param newestBefore the newest version when the poll was sent: it may be overtaken by an answer
   */
  polled(version: string | null, newestBefore: string | null): Freshness {
    const isBehind = seqOf(version) < seqOf(newestBefore)
    const isGivenUp = isBehind && this.#wasBehind
    this.#wasBehind = isBehind && !isGivenUp
    if (isGivenUp) this.#newest = version
    this.saw(version)
    if (version === null || this.#lowest === undefined || version === this.#lowest) return 'current'
    const ahead = seqOf(version) - seqOf(this.#lowest)
    if (isGivenUp || ahead === 0 || (this.#lowest === null && ahead > 0)) return 'replaced'
    return ahead > 0 ? 'older' : 'current'
  }
}

/** Returns the number of a version; 0 without one. */
function seqOf(version: string | null): number {
  return Number(versionText.exec(version ?? '')?.[1] ?? 0)
}
