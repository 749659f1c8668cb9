import { TagChanges } from '../../cache/tag-changes.ts'

/** A response that must be told of changes of its data. */
export interface TaggedResponse {
  /** Notes that the data may have changed. */
  invalidate(): void
}

/** Tag of the responses that any commit may change. */
const anyCommit = 'any commit'

/** Responses by the cache tags of their data. */
export class ResponsesByTag {
  readonly #byTag = new Map<string, Set<TaggedResponse>>()
  readonly #tagsOf = new Map<TaggedResponse, readonly string[]>()
  readonly #changes = new TagChanges()

  /** Number that grows with each commit. */
  get commits(): number {
    return this.#changes.count
  }

  /**
   * Replaces the tags of a response, after an evaluation.
   * @param tags null if any commit may change the response
   * @param commits their number when the evaluation began
   * @returns whether a commit has changed the data since
   */
  set(response: TaggedResponse, tags: ReadonlySet<string> | null, commits: number): boolean {
    this.delete(response)
    const present = tags === null ? [anyCommit] : [...tags]
    this.#tagsOf.set(response, present)
    for (const tag of present) this.#byTag.set(tag, (this.#byTag.get(tag) ?? new Set()).add(response))
    return tags === null ? this.commits > commits : !this.#changes.isUnchanged(present, commits)
  }

  delete(response: TaggedResponse): void {
    for (const tag of this.#tagsOf.get(response) ?? []) {
      const tagged = this.#byTag.get(tag)
      tagged?.delete(response)
      if (tagged?.size === 0) this.#byTag.delete(tag)
    }
    this.#tagsOf.delete(response)
  }

  /** Notes a commit, and invalidates the responses that it may have changed. */
  committed(tags: readonly string[]): void {
    this.#changes.change(tags)
    const changed = new Set([...tags, anyCommit].flatMap((tag) => [...(this.#byTag.get(tag) ?? [])]))
    for (const response of changed) response.invalidate()
  }
}
