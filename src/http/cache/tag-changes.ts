/** Maximum number of tags tracked: each takes about 150 bytes. */
const maxTags = 50_000

/**
 * Records when the data behind each cache tag changed last, counted in commits. The cache checks an entry when it is
 * read, so that a commit costs time in proportion to its tags, and not to the number of entries.
 */
export class TagChanges {
  readonly #changedAt = new Map<string, number>()
  /** Entries started before this count are treated as changed. */
  #forgottenBefore = 0
  #count = 0

  /** Number of commits and resets since the process started; not a commit's sequence number. */
  get count(): number {
    return this.#count
  }

  /** Records the tags that a commit changed. */
  change(tags: readonly string[]): void {
    this.#count++
    if (this.#changedAt.size + tags.length > maxTags) this.forget()
    for (const tag of tags) this.#changedAt.set(tag, this.#count)
  }

  /** Marks all tags as changed now. */
  forget(): void {
    this.#forgottenBefore = ++this.#count
    this.#changedAt.clear()
  }

  /** Returns whether none of the tags has changed since this count. */
  isUnchanged(tags: readonly string[], since: number): boolean {
    if (since < this.#forgottenBefore) return false
    for (const tag of tags) if ((this.#changedAt.get(tag) ?? 0) > since) return false
    return true
  }
}
