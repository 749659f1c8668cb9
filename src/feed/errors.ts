import { DomainError } from '../domain/errors.ts'

/** A line of a feed that isn't a fact, or a fact that can't be: where it stands, and which key is wrong in what way. */
export class BadFact extends Error {
  /** What is wrong in which line, without the feed: its path is nobody's business outside. */
  readonly finding: string

  constructor(
    readonly feed: string,
    readonly line: number,
    /** Null where the line as a whole is at fault. */
    readonly key: string | null,
    readonly reason: string,
  ) {
    const finding = `line ${line}: ${key === null ? '' : `${key} `}${reason}`
    super(`${feed}, ${finding}`)
    this.finding = finding
    this.name = 'BadFact'
  }
}

/** A feed that can't be read: missing, torn, or no longer what was read before. */
export class UnreadableFeed extends Error {
  constructor(
    readonly feed: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`${feed} ${reason}`, options)
    this.name = 'UnreadableFeed'
  }
}

/** What was applied of a feed is lost, as after a failover, and its source can't be read again. */
export class UnrepeatableFeed extends Error {
  constructor(
    readonly feed: string,
    reason = `${feed} can't be read again. Nothing was applied past the gap: give the whole feed again, and what is known is skipped.`,
  ) {
    super(
      `The database has lost facts of ${feed} that were applied, as after a failover to a replica that lagged, and ${reason}`,
    )
    this.name = 'UnrepeatableFeed'
  }
}

/** Bad lines can't be set aside, so that their batch isn't applied. */
export class UnwritableRejects extends Error {
  constructor(
    readonly file: string,
    /** Whether it is want of room that stands in the way. */
    readonly isFull: boolean,
    reason: string,
  ) {
    super(
      `Bad lines can't be set aside in ${file}: ${reason}. ${isFull ? 'Make room on its disk' : 'Make it writable'}.`,
    )
    this.name = 'UnwritableRejects'
  }
}

/** What is wrong with a line, before it is known which line that is. */
export interface ValidationIssue {
  readonly key: string | null
  readonly reason: string
}

/** A fact whose identity is known already, with other contents. */
export class KnownOtherwise extends DomainError {
  constructor(key: string, identity: string) {
    super(key, `is that of a known ${identity}, which has other contents`)
  }
}

/** A new fact older than its vault's newest. */
export class OutOfOrder extends DomainError {
  constructor(
    readonly tsSeconds: number,
    readonly newestSeconds: number,
  ) {
    super('ts', `is ${tsSeconds}, older than the vault's newest fact, ${newestSeconds}`)
  }
}

export class UnknownStrategy extends DomainError {
  constructor(
    key: string,
    readonly strategy: string,
  ) {
    super(key, `names ${JSON.stringify(strategy)}, a strategy that no fact has published`)
  }
}

export class UnknownVault extends DomainError {
  constructor(readonly address: string) {
    super('vault', `is ${address}, a vault that no fact has opened`)
  }
}
