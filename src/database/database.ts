import type { Cancellation } from './cancellation.ts'
import type { ChangeListener, CommitReports } from './commits/change-listener.ts'
import type { PrismaClient } from './prisma/generated/client/client.ts'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

/** An SQL statement with the same text on both engines. PostgreSQL caches its prepared plan under the name. */
export interface Statement {
  readonly name: string
  readonly text: string
  /**
   * How often a transaction prepares it. `once` is for statements with only one possible plan, such as an INSERT. The
   * default is `each time`: a generic plan from the time when a table was small would later scan all of it.
   * @see PostgreSQL documentation, PREPARE, "Notes" on generic and custom plans
   */
  readonly prepare?: 'once' | 'each time'
  /** Decodes its rows, where they are sent as one text in the column `encoded`, or as one text for each `key`. */
  readonly decode?: (encoded: string, key?: string) => unknown[]
}

/**
 * The data that the rows of a read depend on: the vaults in its first value (keys that start with an address), all vaults,
 * the strategy catalogue, the universe, or the positions of feeds, whose changes no commit reports. A cached response is
 * stale once this has changed.
 */
export type ReadDependency = 'named vaults' | 'all vaults' | 'catalogue' | 'universe' | 'feeds'

/** How concurrent reads by the same statement become one. */
export type Batching =
  /** Reads with equal values are sent once, and each request gets all rows. */
  | { readonly kind: 'deduplicated' }
  /**
   * Reads whose values differ only in their keys, the first value, are sent as one statement.
   * `keyProperty` is the property of a decoded row that holds its key.
   */
  | { readonly kind: 'keyed'; readonly keyProperty: string }

/** A statement that reads the read model for a response. */
export interface Read extends Statement {
  readonly dependsOn: ReadDependency
  /** Without it, each read is a separate statement. */
  readonly batching?: Batching
  /**
   * Maximum number of keys of one statement, in the first value: concurrent reads are merged up to it. A single read may have
   * more, which an embedded database runs in chunks of this size. The default is 100 for keyed reads.
   */
  readonly maxKeys?: number
  /**
   * Whether it takes several times as long as most reads. Few long reads run concurrently, so that short ones find a
   * connection; an embedded database alternates long and short reads.
   */
  readonly isLong?: boolean
}

/** A value of a statement's parameter. The read model contains no dates; its only floats are the APR and sigma of strategies. */
export type Value = string | number | boolean | null | readonly string[] | readonly number[]

/**
 * A transaction that writes a batch of facts. Statements run in the order of the calls and are pipelined: each is sent
 * without waiting for earlier results. When one fails, all later ones fail with the same error.
 */
export interface Transaction {
  /** Runs a statement and resolves with its rows. */
  query<Row>(statement: Statement, values: readonly Value[]): Promise<Row[]>
  /** Runs a statement without waiting for it. The transaction commits only after it has succeeded. */
  send(statement: Statement, values: readonly Value[]): void
  /**
   * Appends rows by COPY, like `send`.
   * @param statement `copy … from stdin`
   * @param rows in COPY's text format
   * @see PostgreSQL documentation, COPY, "File Formats"
   */
  copy(statement: Statement, rows: string): void
}

/** Runs reads and returns their rows. */
export interface Reader {
  /**
   * Runs a read and resolves with its rows.
   * @param signal cancels the read, on a PostgreSQL server too
   * @throws {ReadCancelled} when it was cancelled, or exceeded the server's statement timeout
   * @throws {DatabaseUnavailable} when the database cannot be reached now
   */
  query<Row>(read: Read, values: readonly Value[], signal?: Cancellation): Promise<Row[]>
}

/** Rows of a read, with the version of the data that they show. */
export interface Versioned<Row> {
  readonly rows: Row[]
  /** Version of the one snapshot of all rows; null where they are from several snapshots, or the version is unknown. */
  readonly version: string | null
}

/** Runs reads and returns their rows with the version of the data. */
export interface VersionedReader {
  /**
   * Runs a read and resolves with its rows and their version.
   * @param signal cancels the read, on a PostgreSQL server too
   * @throws {ReadCancelled} when it was cancelled, or exceeded the server's statement timeout
   * @throws {DatabaseUnavailable} when the database cannot be reached now
   */
  read<Row>(read: Read, values: readonly Value[], signal?: Cancellation): Promise<Versioned<Row>>
}

/** A statement of any kind, with or without the properties of a read. */
export type AnyStatement = Statement & Partial<Read>

/** Runs statements of any kind, and returns their rows with the version of the data. */
export interface StatementReader extends VersionedReader {
  /** See {@link VersionedReader.read}. */
  read<Row>(statement: AnyStatement, values: readonly Value[], signal?: Cancellation): Promise<Versioned<Row>>
}

/** Runs several reads on one snapshot of the database. */
export interface Snapshots {
  /** Number of snapshots without long reads that may run at once and leave connections for other reads. */
  readonly snapshotsAtOnce: number
  /**
   * Runs work whose reads all see one committed state of the whole database.
   * @param work may use the reader until its promise settles
   * @param signal cancels the work and its reads
   * @param isLong whether the work includes long reads: the snapshot then takes no connection of short reads
   * @throws {ReadCancelled} when it was cancelled
   */
  snapshot<Result>(
    work: (reader: VersionedReader) => Promise<Result>,
    signal?: Cancellation,
    isLong?: boolean,
  ): Promise<Result>
}

/** The server that a process reads from, where it is one of several replicas. */
export interface ReadServerState {
  /** Host and port of each server that may be chosen. */
  readonly servers: readonly string[]
  /** The server that serves reads; null where none can be read from. */
  readonly server: string | null
  /** Number of times that another server was chosen. */
  readonly moves: number
  /** Reason why nothing can be read, as a sentence that names no server; null where reads are answered. */
  readonly problem: string | null
  /** Reasons why the data becomes older, in words. */
  readonly causes: readonly string[]
}

/** The database of the gateway: an embedded PGlite or a PostgreSQL server, which differ only below this interface. */
export interface Database extends Reader, StatementReader, Snapshots {
  readonly engine: 'pglite' | 'postgresql'
  /** Prisma's client, for rare reads and writes. */
  readonly prisma: PrismaClient
  /** Runs any statement and resolves with its rows; see {@link Reader.query}. */
  query<Row>(statement: AnyStatement, values: readonly Value[], signal?: Cancellation): Promise<Row[]>
  /** Notifies a listener of the commits of the server that is read from, until it is stopped. */
  listen(listener: ChangeListener): Promise<CommitReports>
  /** Returns the replica that serves reads; only where there are replicas. */
  readonly readServer?: () => ReadServerState
  /** Runs work in one transaction, and rolls it back when the work fails. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /**
   * Runs work under a lock that excludes every other process that calls this.
   * @param signal ends the wait for the lock, but not the work
   * @throws {ReadCancelled} when the wait was cancelled
   * @throws {DatabaseRefused} when another process holds the lock for too long
   */
  exclusively<Result>(work: () => Promise<Result>, signal?: Cancellation): Promise<Result>
  /**
   * Runs work by Prisma's schema engine on a connection that ends with it, because the engine never releases its lock.
   * Waits for the end of a migration that the server still runs for a killed process.
   */
  withEngineAdapter<Result>(work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>): Promise<Result>
  /** Closes all connections, and releases the data directory of an embedded database. */
  close(): Promise<void>
}
