import type { Cancellation } from './cancellation.ts'
import type { StopWatching, Watcher } from './watcher.ts'
import type { PrismaClient } from './generated/client/client.ts'
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
 * What a read's rows are made from: the vaults that its first value names, all vaults, the catalogue of strategies, or
 * the universe. When that changes, an answer that was made of them no longer stands.
 */
export type Origin = 'named vaults' | 'all vaults' | 'catalogue' | 'universe'

/** A statement that reads the read model. */
export interface Read extends Statement {
  readonly from: Origin
  /**
   * Where requests may share it, since it is short: the column that tells which of its keys, the first value, a row is
   * of; or null where it has no keys, so that all its rows are everybody's.
   */
  readonly sharedBy?: string | null
  /** How many keys a shared read may have; a hundred unless each has many rows. */
  readonly mostShared?: number
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

/** The embedded PGlite or a PostgreSQL: what differs between them is below this. */
export interface Database extends Reader {
  readonly engine: 'pglite' | 'postgresql'
  /** For what is read or changed seldom. */
  readonly prisma: PrismaClient
  query<Row>(statement: Statement, values: readonly Value[], signal?: Cancellation): Promise<Row[]>
  /** Tells what committed batches of facts have changed, as long as it is watched. */
  watch(watcher: Watcher): Promise<StopWatching>
  /** Runs work in one transaction; what it throws rolls all of it back. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /** Runs work while no other process that asks for the same does. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
  /** Runs work by Prisma's schema engine, on a connection that ends with it: the engine never gives back its lock. */
  withEngineAdapter<Result>(work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}
