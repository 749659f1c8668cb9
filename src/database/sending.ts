import type { Statement, Transaction, Value } from './database.ts'

/**
 * Said once to a connection that writes: a plan that is kept from when a table was small would read all of it when it
 * no longer is.
 */
export const planAnew = 'set plan_cache_mode = force_custom_plan'

/** Runs a statement when those that were given before have ended, without being waited for. */
export type Run = <Row>(statement: Statement, values: readonly Value[]) => Promise<Row[]>

/** The statements of a transaction. One that fails fails those after it, so that the first error is told for all. */
export class Sending implements Transaction {
  #failure: { readonly error: unknown } | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(readonly run: Run) {}

  query<Row>(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const running = this.run<Row>(statement, values).catch((error: unknown) => {
      this.#failure ??= { error }
      throw this.#failure.error
    })
    this.#last = running.catch(() => undefined)
    return running
  }

  send(statement: Statement, values: readonly Value[]): void {
    void this.query(statement, values)
  }

  /** Ends when all of them have, and so the last. */
  async end(): Promise<void> {
    await this.#last
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
