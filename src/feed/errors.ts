/** A line of a feed that isn't a fact, or a fact that can't be: where it stands, and which key is wrong in what way. */
export class BadFact extends Error {
  constructor(
    readonly feed: string,
    readonly line: number,
    /** Null where the line as a whole is at fault. */
    readonly key: string | null,
    readonly reason: string,
  ) {
    super(`${feed}, line ${line}: ${key === null ? '' : `${key} `}${reason}`)
    this.name = 'BadFact'
  }
}

/** A feed that can't be read: missing, torn, or no longer what was read before. */
export class UnreadableFeed extends Error {
  constructor(
    readonly feed: string,
    reason: string,
  ) {
    super(`${feed} ${reason}`)
    this.name = 'UnreadableFeed'
  }
}

/** What is wrong with a line, before it is known which line that is. */
export interface Flaw {
  readonly key: string | null
  readonly reason: string
}
