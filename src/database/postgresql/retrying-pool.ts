import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { Canceller, untilCancelled } from '../cancellation.ts'
import { DatabaseUnavailable, SessionNotGiven } from '../errors.ts'

/** SQLSTATE "too many connections": the limit of the server (`max_connections`), the role or the database. */
const tooManyConnections = '53300'
/**
 * PgBouncer's message for its connection limit, which has no specific SQLSTATE.
 * @see https://www.pgbouncer.org/config.html#max_client_conn
 */
const pgBouncerFull = 'no more connections allowed'
const growMilliseconds = 10_000
const retryMilliseconds = 200

type Callback = Parameters<pg.Pool['connect']>[0]

/** Options of a {@link RetryingPool}. */
export interface RetryingPoolOptions extends Omit<pg.PoolConfig, 'onConnect'> {
  readonly max: number
  readonly connectionTimeoutMillis: number
  /** Runs before a connection is used. */
  readonly onConnect?: (client: pg.ClientBase) => Promise<void>
  /** Called when the server provides no more connections. */
  readonly onFull: () => void
  /** Pools of which the largest closes a connection in favour of this pool where this pool has none. */
  readonly lenders?: readonly RetryingPool[]
  /** Whether requests run on the only connection of the largest lender where this pool has none. */
  readonly usesLenders?: boolean
}

/**
 * A pool that continues with its open connections when the server provides no more: requests wait for one of these.
 * After a while it tries to grow again.
 */
export class RetryingPool extends pg.Pool {
  readonly #max: number
  readonly #options: RetryingPoolOptions
  #growing: NodeJS.Timeout | undefined
  #isBorrowing = false
  /** Connections that the server has accepted: `totalCount` also counts those being opened, which may be refused. */
  readonly #open = new Set<pg.PoolClient>()
  readonly #destroyed = new Canceller()

  constructor(options: RetryingPoolOptions) {
    super(options)
    this.#max = options.max
    this.#options = options
    const forget = (client: pg.PoolClient): void => void this.#open.delete(client)
    this.on('connect', (client) => this.#open.add(client)).on('remove', forget)
    // A connection that is to be closed is released before it ends.
    this.on('release', (error: unknown, client) => (error == null || error === false ? undefined : forget(client)))
  }

  /** Number of connections that the server has accepted. */
  get openCount(): number {
    return this.#open.size
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connected = this.#unlessDestroyed(this.#connected())
    if (callback === undefined) return connected
    connected.then(
      (client) => callback(undefined, client, (error?: Error | boolean) => client.release(error)),
      (error: unknown) => callback(error as Error, undefined, () => undefined),
    )
    return undefined
  }

  /** Closes the connections, and fails the requests that wait for one, which `end` would leave waiting. */
  destroy(): void {
    this.#destroyed.abort()
    for (const client of this.#open) client.connection.stream.destroy()
  }

  async #unlessDestroyed(connected: Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    try {
      return await untilCancelled(connected, this.#destroyed)
    } catch (error) {
      if (!this.#destroyed.aborted) throw error
      connected.then(
        (client) => client.release(true),
        () => undefined,
      )
      throw new DatabaseUnavailable(error)
    }
  }

  async #connected(): Promise<pg.PoolClient> {
    const until = performance.now() + this.#options.connectionTimeoutMillis
    for (;;) {
      try {
        return await super.connect()
      } catch (error) {
        if (!isFull(error) || performance.now() > until) throw asFatal(error)
        // Without an open connection, PgBouncer may be waiting for a server that comes back, and then grants all sessions.
        if (this.#open.size > 0 || !(error instanceof SessionNotGiven)) this.#shrink()
      }
      if (this.#open.size > 0) {
        // The request waits in the pool for one of its connections, unless one is just closing.
        if (this.totalCount < this.options.max) await wait(retryMilliseconds)
        continue
      }
      const { lenders = [], usesLenders = false } = this.#options
      const [largest] = lenders.toSorted((one, other) => other.openCount - one.openCount)
      if (usesLenders && largest?.openCount === 1) return largest.connect()
      void this.#borrowFrom(largest)
      await wait(retryMilliseconds)
    }
  }

  /** Limits the pool to its open connections. */
  #shrink(): void {
    this.#limit(Math.max(1, this.#open.size))
    this.#options.onFull()
  }

  #limit(max: number): void {
    this.options.max = max
    clearTimeout(this.#growing)
    this.#growing = setTimeout(() => {
      this.options.max = this.#max
    }, growMilliseconds).unref()
  }

  /** Makes another pool close a connection, and waits until its slot can be used; once for all waiting requests. */
  async #borrowFrom(lender: RetryingPool | undefined): Promise<void> {
    if (this.#isBorrowing) return
    this.#isBorrowing = true
    await lender?.releaseOne()
    await wait(2 * retryMilliseconds)
    this.#isBorrowing = false
  }

  /** Closes an idle connection as soon as there is one, unless it is the only connection. */
  async releaseOne(): Promise<void> {
    if (this.#open.size < 2) return
    this.#limit(this.#open.size - 1)
    await super.connect().then(
      // Others may have closed one meanwhile.
      (client) => client.release(this.#open.size > 1),
      () => undefined,
    )
  }
}

/** Marks the server's reason to refuse a connection as one that ends the session, since it may have translated the severity. */
function asFatal(error: unknown): unknown {
  return error instanceof pg.DatabaseError ? Object.assign(error, { severity: 'FATAL' }) : error
}

function isFull(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  return error instanceof SessionNotGiven || code === tooManyConnections || message.includes(pgBouncerFull)
}
