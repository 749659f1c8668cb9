import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'

/** The server has no connection left: `max_connections`, or the limit of the role or the database. */
const tooManyConnections = '53300'
/** PgBouncer says so without a code of its own: https://www.pgbouncer.org/config.html#max_client_conn */
const noMoreOfPgBouncer = 'no more connections allowed'
const growMilliseconds = 10_000
const retryMilliseconds = 200

type Callback = Parameters<pg.Pool['connect']>[0]

export interface RetryingPoolOptions extends pg.PoolConfig {
  readonly max: number
  readonly connectionTimeoutMillis: number
  /** Is told how many connections it has where the server gives no more. */
  readonly onFull: (connections: number) => void
  /** A pool that gives up one of its connections to this one where this one has none. */
  readonly lender?: RetryingPool
}

/**
 * A pool that makes do with the connections it has where the server gives no more: whoever asks waits for one of those.
 * After a while it asks the server for more again.
 */
export class RetryingPool extends pg.Pool {
  readonly #most: number
  readonly #patient: RetryingPoolOptions
  #growing: NodeJS.Timeout | undefined

  constructor(options: RetryingPoolOptions) {
    super(options)
    this.#most = options.max
    this.#patient = options
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connected = this.#connected()
    if (callback === undefined) return connected
    connected.then(
      (client) => callback(undefined, client, (error?: Error | boolean) => client.release(error)),
      (error: unknown) => callback(error as Error, undefined, () => undefined),
    )
    return undefined
  }

  async #connected(): Promise<pg.PoolClient> {
    const until = performance.now() + this.#patient.connectionTimeoutMillis
    for (;;) {
      try {
        return await super.connect()
      } catch (error) {
        if (!isFull(error) || performance.now() > until) throw error
      }
      this.#shrink()
      if (this.totalCount > 0) continue
      void this.#patient.lender?.giveUpOne()
      await wait(retryMilliseconds)
    }
  }

  /** Takes those that it has, or is about to have, for all there are. */
  #shrink(): void {
    this.#limit(Math.max(1, this.totalCount))
    this.#patient.onFull(this.totalCount)
  }

  #limit(most: number): void {
    this.options.max = most
    this.#growing ??= setTimeout(() => {
      this.#growing = undefined
      this.options.max = this.#most
    }, growMilliseconds).unref()
  }

  /** Ends a connection when its turn comes, unless it is the only one. */
  async giveUpOne(): Promise<void> {
    if (this.totalCount < 2) return
    this.#limit(this.totalCount - 1)
    await super.connect().then(
      (client) => client.release(true),
      () => undefined,
    )
  }
}

function isFull(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  return code === tooManyConnections || message.includes(noMoreOfPgBouncer)
}
