import { DomainError } from '../domain/errors.ts'

/** A line that is not a fact, or a fact that breaks a rule: its line number, the wrong key and the reason. */
export class BadFact extends Error {
  /** The message without the feed's name, whose path must not be disclosed to clients. */
  readonly messageWithoutFeed: string

  constructor(
    readonly feed: string,
    readonly line: number,
    /** Null where the whole line is wrong. */
    readonly key: string | null,
    readonly reason: string,
    /** The vault that the fact is about; null where it is about none, or unknown. */
    readonly vault: string | null = null,
  ) {
    const messageWithoutFeed = `line ${line}: ${printable(`${key === null ? '' : `${key} `}${reason}`)}`
    super(`${feed}, ${messageWithoutFeed}`)
    this.messageWithoutFeed = messageWithoutFeed
    this.name = 'BadFact'
  }
}

/**
 * Escapes control characters and those that change the direction of text: keys and names of a line may have them, and a terminal
 * would obey them, or show a line of its own in the log.
 */
function printable(text: string): string {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, escape)
}

/** A feed that cannot be read: missing, truncated, or changed since it was read before. */
export class UnreadableFeed extends Error {
  constructor(
    readonly feed: string,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${feed} ${reason}`, options)
    this.name = 'UnreadableFeed'
  }
}

/** The database lost applied facts, for example by a failover, and the source cannot be read again. */
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

  /**
   * Returns the error for a removed file of the feed that may not be fully applied.
   * @param position stored position in that file; null where nothing of it is applied
   */
  static ofRemovedFile(name: string, position: { readonly line: number } | null): UnrepeatableFeed {
    const which = position === null ? 'and not applied by now' : `applied to its line ${position.line}`
    const reason =
      `they are of a file that stood at ${name} before, ${which}, which is no longer there. Apply the ` +
      'files that stood there since, the oldest first, by npm run ingest, and start the gateway anew: what is known is skipped'
    return new UnrepeatableFeed(name, reason)
  }

  /** Returns the error for a removed file of the feed to which lines were appended late, which may not be applied now. */
  static ofRemovedLateFile(name: string): UnrepeatableFeed {
    const reason =
      `lines that came late in a file that stood at ${name} before may be among them. That file is no longer beside it: ` +
      'apply a copy of it by npm run ingest, and start the gateway anew, which continues without the file'
    return new UnrepeatableFeed(name, reason)
  }
}

/** Rejected lines cannot be written, so their batch is not applied. */
export class UnwritableRejects extends Error {
  constructor(
    readonly file: string,
    /** Whether the disk is full. */
    readonly isFull: boolean,
    reason: string,
  ) {
    super(
      `Bad lines can't be set aside in ${file}: ${reason}. ${isFull ? 'Make room on its disk' : 'Make it readable and writable'}.`,
    )
    this.name = 'UnwritableRejects'
  }
}

/** A new fact is ahead of this machine's clock, which is known to be wrong by the facts in the database. */
export class ClockBehind extends Error {
  constructor(
    /** Line of the fact. */
    readonly line: number,
    readonly tsSeconds: number,
    readonly nowSeconds: number,
    /** Time of the newest fact in the database that was compared with a clock. */
    readonly newestSeconds: number,
  ) {
    super(
      `Line ${line} is of ${tsSeconds}, more than a day ahead of this machine's clock, ${nowSeconds}, and so is the newest fact ` +
        `in the database, ${newestSeconds}: set the clock. If it is right, remove the line, and start again.`,
    )
    this.name = 'ClockBehind'
  }
}

/** A problem of a line: the wrong key, null for the whole line, and the reason. */
export interface ValidationIssue {
  readonly key: string | null
  readonly reason: string
}

/** A fact whose identity is known with other contents. */
export class ConflictingFact extends DomainError {
  constructor(key: string, identity: string) {
    super(key, `is that of a known ${identity}, which has other contents`)
  }
}

/** A new fact that is older than the newest fact of its vault. */
export class OutOfOrder extends DomainError {
  constructor(
    readonly tsSeconds: number,
    readonly newestSeconds: number,
  ) {
    super('ts', `is ${tsSeconds}, older than the vault's newest fact, ${newestSeconds}`)
  }
}

/** A fact that names a strategy without a strategy fact. */
export class UnknownStrategy extends DomainError {
  constructor(
    key: string,
    readonly strategy: string,
  ) {
    super(key, `names ${JSON.stringify(strategy)}, a strategy that no fact has published`)
  }
}

/** A fact about a vault without a vault fact. */
export class UnknownVault extends DomainError {
  constructor(readonly address: string) {
    super('vault', `is ${address}, a vault that no fact has opened`)
  }
}
