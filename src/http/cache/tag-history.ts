/** Tags whose newest change is kept: each takes some 150 bytes. */
const mostTags = 50_000

/**
 * When the data behind each cache tag changed last, counted in commits heard. Whoever keeps an answer asks it before the
 * answer is used again: a commit costs as much as it has tags, however many answers are kept.
 */
export class TagHistory {
  readonly #changedAt = new Map<string, number>()
  /** What was made before counts as changed. */
  #forgottenBefore = 0
  #now = 0

  /** The number of the newest commit. */
  get now(): number {
    return this.#now
  }

  /** Takes in a commit. */
  change(tags: readonly string[]): void {
    this.#now++
    if (this.#changedAt.size + tags.length > mostTags) this.forget()
    for (const tag of tags) this.#changedAt.set(tag, this.#now)
  }

  /** Counts all as changed now. */
  forget(): void {
    this.#forgottenBefore = ++this.#now
    this.#changedAt.clear()
  }

  /** Whether none of the tags has changed since the commit with this number. */
  isUnchanged(tags: readonly string[], since: number): boolean {
    if (since < this.#forgottenBefore) return false
    for (const tag of tags) if ((this.#changedAt.get(tag) ?? 0) > since) return false
    return true
  }
}
