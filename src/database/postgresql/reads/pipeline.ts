import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import { type Cancellation, untilCancelled } from '../../cancellation.ts'
import { ReadCancelled, RecoveryConflict } from '../../errors.ts'
import { sendCancelRequest } from './cancel-request.ts'
import { isCancelled, isConnectionLost, isUnexpectedStatement, toDatabaseError } from './read-errors.ts'

/**
 * Time that a cancelled read may still take before a cancel request is sent: a short wait is cheaper than the request.
 */
const graceMilliseconds = 100
/** Maximum time for the server to stop a read; then the connection is closed. */
export const stopMilliseconds = 1_000

/**
 * Pipelines reads on one connection of a pool: each is sent while earlier ones run, so that the server process continues
 * without being woken for each. The connection is released when no read runs, or when other requests wait for one.
 * @see PostgreSQL documentation, "Message Flow", section "Pipelining"
 */
export class Pipeline {
  readonly #pool: pg.Pool
  #connection: PipelinedConnection | null = null

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /**
   * Runs a statement and resolves with its rows. A cancelled read is stopped on the server too. A read that a standby
   * ended by a recovery conflict is retried once. So is a read whose prepared statement was missing, on a connection
   * that it shares with no other read, so that it prepares the statement.
   * @throws {ReadCancelled} when it was cancelled, or exceeded the statement timeout
   * @throws {DatabaseUnavailable} when the connection failed or the server is not available
   */
  async read(statement: pg.QueryConfig, signal: Cancellation | undefined): Promise<unknown[]> {
    try {
      return await this.#readOnce(statement, signal)
    } catch (error) {
      if (!(error instanceof RecoveryConflict || isUnexpectedStatement(error))) throw error
      return await this.#readOnce(statement, signal, isUnexpectedStatement(error))
    }
  }

  async #readOnce(statement: pg.QueryConfig, signal: Cancellation | undefined, isAlone = false): Promise<unknown[]> {
    for (;;) {
      if (this.#pool.waitingCount > 0) this.#connection = null
      const connection = isAlone
        ? new PipelinedConnection(this.#pool)
        : (this.#connection ??= new PipelinedConnection(this.#pool))
      connection.enter()
      try {
        const client = await untilCancelled(connection.connecting, signal)
        return await this.#send(connection, client, statement, signal)
      } catch (error) {
        // The cancel request for another read reached this one: retry.
        const isOtherCancelled = connection.isStopped && isCancelled(error) && signal?.aborted !== true
        if (!isOtherCancelled) throw toDatabaseError(error)
      } finally {
        this.#leave(connection)
      }
    }
  }

  async #send(
    connection: PipelinedConnection,
    client: pg.PoolClient,
    statement: pg.QueryConfig,
    signal: Cancellation | undefined,
  ): Promise<unknown[]> {
    const rows = rowsOf(client, statement)
    const ended = connection.register(rows)
    try {
      return await untilCancelled(rows, signal)
    } catch (error) {
      if (error instanceof ReadCancelled) void this.#stop(connection, client, ended)
      else if (isConnectionLost(error) || isUnexpectedStatement(error)) {
        this.#retire(connection).isBroken = true
      }
      throw error
    }
  }

  /**
   * Stops a read on the server unless it ends within the grace time. Earlier reads on the connection run to their end.
   */
  async #stop(connection: PipelinedConnection, client: pg.PoolClient, ended: Promise<boolean>): Promise<void> {
    connection.enter()
    while (!(await finishesWithin(graceMilliseconds, ended))) {
      const before = connection.first
      if (before === ended) {
        await this.#cancel(connection, client, ended)
        break
      }
      await before
    }
    this.#leave(connection)
  }

  /** Sends a cancel request. The connection takes no new reads from now on, because the request could stop one of them. */
  async #cancel(connection: PipelinedConnection, client: pg.PoolClient, ended: Promise<boolean>): Promise<void> {
    this.#retire(connection).isStopped = true
    const isStopped = sendCancelRequest(client, stopMilliseconds).then((isSent) => isSent && ended)
    if (!(await finishesWithin(stopMilliseconds, isStopped))) connection.destroy(client)
  }

  #retire(connection: PipelinedConnection): PipelinedConnection {
    if (this.#connection === connection) this.#connection = null
    return connection
  }

  #leave(connection: PipelinedConnection): void {
    if (connection.leave()) this.#retire(connection)
  }
}

/** A connection that reads of one pipeline share; released after the last of them. */
class PipelinedConnection {
  readonly connecting: Promise<pg.PoolClient>
  /** Whether it cannot be reused. */
  isBroken = false
  /** Whether a cancel request was sent for it. */
  isStopped = false
  #readers = 0
  #isReleased = false
  /** Ends of the running reads, in the order in which they were sent. */
  readonly #ends = new Set<Promise<boolean>>()

  constructor(pool: pg.Pool) {
    this.connecting = pool.connect()
  }

  /** The end of the read that the server currently runs. */
  get first(): Promise<boolean> | undefined {
    const [first] = this.#ends
    return first
  }

  enter(): void {
    this.#readers++
  }

  /**
   * Releases the connection after its last read.
   * @returns whether it was released
   */
  leave(): boolean {
    if (--this.#readers > 0) return false
    // A connection that is still being opened is released once it is open.
    this.connecting.then((client) => this.#release(client)).catch(() => undefined)
    return true
  }

  /**
   * Registers a read that was sent.
   * @returns a promise of its end, which never rejects
   */
  register(rows: Promise<unknown>): Promise<boolean> {
    const end = rows.then(alwaysTrue, alwaysTrue)
    this.#ends.add(end)
    void end.then(() => this.#ends.delete(end))
    return end
  }

  /** Closes the connection with all of its reads, because the pool would wait for them. */
  destroy(client: pg.PoolClient): void {
    client.connection.stream.destroy()
    this.isBroken = true
    this.#release(client)
  }

  #release(client: pg.PoolClient): void {
    if (!this.#isReleased) client.release(this.isBroken)
    this.#isReleased = true
  }
}

/** Runs a statement by pg's callback interface: its promise interface keeps rows reachable until a major collection. */
export function rowsOf(client: pg.PoolClient, statement: pg.QueryConfig): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    client.query(statement, (error: Error | null, result: pg.QueryResult) => {
      if (error === null) resolve(result.rows as unknown[])
      else reject(error)
    })
  })
}

const alwaysTrue = (): boolean => true

/**
 * Resolves with the work, or with false on a timeout. After a busy period of the event loop timers run before I/O
 * callbacks: one more iteration accepts an answer that has arrived already.
 */
export function finishesWithin(milliseconds: number, work: Promise<boolean>): Promise<boolean> {
  return Promise.race([work, wait(milliseconds).then(() => nextIteration(false))])
}
