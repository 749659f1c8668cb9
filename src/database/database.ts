import type { Cancellation } from './cancellation.ts'
import type { ChangeListener, StopListening } from './commits/change-listener.ts'
import type { PrismaClient } from './prisma/generated/client/client.ts'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

/** Its text is the same on both engines, its name is what PostgreSQL keeps the prepared plan under. */
export interface Statement {
  readonly name: string
  readonly text: string
  /**
   * Whether a transaction may keep its plan, since there is but one way to run it, as for what only inserts: another that
   * is kept from when a table was small would read all of it when it no longer is.
   */
  readonly hasOnePlan?: boolean
  /** Where its rows come as one text, `packed`, or as one of each `key`: makes them of it. */
  readonly unpack?: (text: string, key?: string) => unknown[]
}

/**
 * What a read's rows are made from: the vaults that its first value names, all vaults, the catalogue of strategies, the
 * universe, or how far feeds are, which no commit tells of. When that changes, an answer that was made of them no longer stands.
 */
export type Origin = 'named vaults' | 'all vaults' | 'catalogue' | 'universe' | 'feeds'

/** A statement that reads the read model. */
export interface Read extends Statement {
  readonly from: Origin
  /**
   * Where requests may share it, since it is short: the column that tells which of its keys, the first value, a row is
   * of; or null where it has no keys, so that all its rows are everybody's.
   */
  readonly sharedBy?: string | null
  /** How many keys a shared read may have, or a piece of one that is read in pieces; a hundred unless each has many rows. */
  readonly mostShared?: number
  /** Whether it reads as many rows as there are: few of these run at once, so that short reads always find a connection. */
  readonly isUnbounded?: boolean
}

/** A value a statement can be given; dates and floats have no place in the read model. */
export type Value = string | number | boolean | null | readonly string[] | readonly number[]

/**
 * What a batch of facts is written by. Statements run in the order they are given in, none waits for the answer to the
 * one before it, and what is given in one go is sent in one go. Where one fails, all fail, by its error.
 */
export interface Transaction {
  /** Gives a statement's rows. */
  query<Row>(statement: Statement, values: readonly Value[]): Promise<Row[]>
  /** Sends a statement whose rows nobody asks for: the transaction is not committed before it has ended well. */
  send(statement: Statement, values: readonly Value[]): void
}

/** What reads ask. */
export interface Reader {
  /**
   * Runs a hot read and gives its rows.
   * @param signal gives it up, and stops it on a server
   * @throws {ReadCancelled} where it was given up, or took too long
   * @throws {DatabaseUnavailable} where the database can't be reached now
   */
  query<Row>(read: Read, values: readonly Value[], signal?: Cancellation): Promise<Row[]>
}

/** Rows of a read, and the version of the data that they were read from. */
export interface Versioned<Row> {
  readonly rows: Row[]
  /** Of the one snapshot that all the rows are of; null where they are of several snapshots, or their version is unknown. */
  readonly version: string | null
}

export interface VersionedReader {
  /**
   * Runs a hot read and gives its rows with their version.
   * @param signal gives it up, and stops it on a server
   * @throws {ReadCancelled} where it was given up, or took too long
   * @throws {DatabaseUnavailable} where the database can't be reached now
   */
  read<Row>(read: Read, values: readonly Value[], signal?: Cancellation): Promise<Versioned<Row>>
}

export interface Snapshots {
  /**
   * Runs work whose reads all see one committed state of the whole database.
   * @param work it may read by the reader until it ends
   * @param signal gives up the work and its reads
   * @param isUnbounded whether unbounded reads are among them: it takes none of the connections of short reads then
   * @throws {ReadCancelled} where it was given up
   */
  snapshot<Result>(
    work: (reader: VersionedReader) => Promise<Result>,
    signal?: Cancellation,
    isUnbounded?: boolean,
  ): Promise<Result>
}

/** The embedded PGlite or a PostgreSQL: what differs between them is below this. */
export interface Database extends Reader, VersionedReader, Snapshots {
  readonly engine: 'pglite' | 'postgresql'
  /** For what is read or changed seldom. */
  readonly prisma: PrismaClient
  query<Row>(statement: Statement, values: readonly Value[], signal?: Cancellation): Promise<Row[]>
  read<Row>(statement: Statement, values: readonly Value[], signal?: Cancellation): Promise<Versioned<Row>>
  /** Tells of the commits of the server that is read from, until it is stopped. */
  listen(listener: ChangeListener): Promise<StopListening>
  /** Runs work in one transaction; what it throws rolls all of it back. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /** Runs work while no other process that asks for the same does. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
  /** Runs work by Prisma's schema engine, on a connection that ends with it: the engine never gives back its lock. */
  withEngineAdapter<Result>(work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}
