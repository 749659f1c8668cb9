import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { ReadCancelled } from '../errors.ts'
import { untilCancelled } from '../cancellation.ts'
import type { Cancellation } from '../cancellation.ts'
import { DatabaseUnavailable, isUnavailable, RecoveryConflict, recoveryConflicts } from '../errors.ts'

/** A read that ends in so many milliseconds by itself is cheaper than telling the server to stop. */
export const graceMilliseconds = 100
/** A server that doesn't stop a read in so many more is not heard of: the connection is thrown away. */
export const stopMilliseconds = 1_000

/** What the server says of a statement that was cancelled, or took longer than `statement_timeout`. */
const queryCancelled = '57014'

/**
 * Reads by one connection of a pool at a time: each is sent while those before it run, so that the server goes from one
 * to the next without having to be woken. The connection is given back when none runs, or others wait for one.
 */
export class Pipeline {
  readonly #pool: pg.Pool
  readonly #control: pg.Pool
  #held: Held | null = null

  /** @param control a pool that tells the server what to stop */
  constructor(pool: pg.Pool, control: pg.Pool) {
    this.#pool = pool
    this.#control = control
  }

  /**
   * Gives a statement's rows. A read that is given up is stopped on the server too; one that a standby has ended to
   * replay the primary's changes is tried once more.
   * @throws {ReadCancelled}
   * @throws {DatabaseUnavailable}
   */
  async read(statement: pg.QueryConfig, signal: Cancellation | undefined): Promise<unknown[]> {
    try {
      return await this.#readOnce(statement, signal)
    } catch (error) {
      if (!(error instanceof RecoveryConflict)) throw error
      return await this.#readOnce(statement, signal)
    }
  }

  async #readOnce(statement: pg.QueryConfig, signal: Cancellation | undefined): Promise<unknown[]> {
    if (this.#pool.waitingCount > 0) this.#held = null
    const held = (this.#held ??= new Held(this.#pool))
    held.enter()
    try {
      const client = await untilCancelled(held.connecting, signal)
      return await this.#send(held, client, statement, signal)
    } catch (error) {
      // What was to stop another read has met this one.
      const isMistaken = held.isStopped && isCancelled(error) && signal?.aborted !== true
      if (isMistaken) return await this.#readOnce(statement, signal)
      throw explained(error)
    } finally {
      this.#leave(held)
    }
  }

  async #send(
    held: Held,
    client: pg.PoolClient,
    statement: pg.QueryConfig,
    signal: Cancellation | undefined,
  ): Promise<unknown[]> {
    const rows = rowsOf(client, statement)
    const ended = held.running(rows)
    try {
      return await untilCancelled(rows, signal)
    } catch (error) {
      if (error instanceof ReadCancelled) void this.#stop(held, client, ended)
      else if (explained(error) instanceof DatabaseUnavailable) this.#retire(held).isBroken = true
      throw error
    }
  }

  /** Stops a read on the server, unless it ends by itself; what runs before it on its connection is let end. */
  async #stop(held: Held, client: pg.PoolClient, ended: Promise<boolean>): Promise<void> {
    held.enter()
    while (!(await finishesWithin(graceMilliseconds, ended))) {
      const before = held.first
      if (before === ended) {
        await this.#cancel(held, client, ended)
        break
      }
      await before
    }
    this.#leave(held)
  }

  /** No other read comes on the connection from now on, lest it be stopped in this one's stead. */
  async #cancel(held: Held, client: pg.PoolClient, ended: Promise<boolean>): Promise<void> {
    this.#retire(held).isStopped = true
    const { processID } = client as unknown as { processID: number }
    const told = this.#control.query('select pg_cancel_backend($1)', [processID])
    const isStopped = Promise.all([ended, told]).then(isSo, () => false)
    if (!(await finishesWithin(stopMilliseconds, isStopped))) held.throwAway(client)
  }

  #retire(held: Held): Held {
    if (this.#held === held) this.#held = null
    return held
  }

  #leave(held: Held): void {
    if (held.leave()) this.#retire(held)
  }
}

/** A connection that is kept while reads run on it, or wait for it. */
class Held {
  readonly connecting: Promise<pg.PoolClient>
  /** Whether it is worth nothing any more. */
  isBroken = false
  /** Whether the server was told to stop what runs on it. */
  isStopped = false
  #readers = 0
  #isGivenBack = false
  /** The ends of those that run, in their order. */
  readonly #ends = new Set<Promise<boolean>>()

  constructor(pool: pg.Pool) {
    this.connecting = pool.connect()
  }

  /** The end of the read that the server is at. */
  get first(): Promise<boolean> | undefined {
    const [first] = this.#ends
    return first
  }

  enter(): void {
    this.#readers++
  }

  /** Gives it back with the last one, and tells so. */
  leave(): boolean {
    if (--this.#readers > 0) return false
    // The turn that nobody waits for any more comes yet, and is passed on.
    this.connecting.then((client) => this.#giveBack(client)).catch(() => undefined)
    return true
  }

  /** @returns the end of a read that was sent */
  running(rows: Promise<unknown>): Promise<boolean> {
    const end = rows.then(isSo, isSo)
    this.#ends.add(end)
    void end.then(() => this.#ends.delete(end))
    return end
  }

  /** Cuts it, with all that runs on it: the pool would wait for that. */
  throwAway(client: pg.PoolClient): void {
    client.connection.stream.destroy()
    this.isBroken = true
    this.#giveBack(client)
  }

  #giveBack(client: pg.PoolClient): void {
    if (!this.#isGivenBack) client.release(this.isBroken)
    this.#isGivenBack = true
  }
}

/** By a callback: what pg gives as a promise keeps its rows from being garbage until the old garbage is looked for. */
export function rowsOf(client: pg.PoolClient, statement: pg.QueryConfig): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    client.query(statement, (error: Error | null, result: pg.QueryResult) => {
      if (error === null) resolve(result.rows as unknown[])
      else reject(error)
    })
  })
}

const isSo = (): boolean => true

/**
 * What the work comes to; false where it takes longer. After a busy event loop timers come before sockets: one more turn
 * lets in an answer that is there already.
 */
export function finishesWithin(milliseconds: number, work: Promise<boolean>): Promise<boolean> {
  return Promise.race([work, wait(milliseconds).then(() => nextTurn(false))])
}

function isCancelled(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === queryCancelled
}

/** What isn't the server's own word is of the connection to it, unless this code is at fault. */
export function explained(error: unknown): unknown {
  if (error instanceof ReadCancelled || error instanceof TypeError || error instanceof RangeError) return error
  if (error instanceof DatabaseUnavailable) return error
  if (!(error instanceof pg.DatabaseError)) return new DatabaseUnavailable(error)
  if (isCancelled(error)) return new ReadCancelled(error)
  if (recoveryConflicts.includes(error.code ?? '')) return new RecoveryConflict(error)
  return isUnavailable(error) ? new DatabaseUnavailable(error) : error
}
