import type { FollowedResponse } from './followed-response.ts'

/** Tag of the followed responses that any commit may change. */
const anyCommit = 'any commit'

/** Followed responses by the cache tags of their data. */
export class ResponsesByTag {
  readonly #byTag = new Map<string, Set<FollowedResponse>>()

  /** @param tags of the newest evaluation; null where any commit may change the response */
  set(followed: FollowedResponse, tags: ReadonlySet<string> | null): void {
    this.delete(followed)
    followed.tags = tags
    for (const tag of tags ?? [anyCommit]) {
      const tagged = this.#byTag.get(tag) ?? new Set()
      this.#byTag.set(tag, tagged.add(followed))
    }
  }

  delete(followed: FollowedResponse): void {
    for (const tag of followed.tags ?? [anyCommit]) {
      const tagged = this.#byTag.get(tag)
      tagged?.delete(followed)
      if (tagged?.size === 0) this.#byTag.delete(tag)
    }
  }

  /** Returns the responses that a commit may have changed. */
  changedBy(tags: readonly string[]): Set<FollowedResponse> {
    return new Set([...tags, anyCommit].flatMap((tag) => [...(this.#byTag.get(tag) ?? [])]))
  }
}
