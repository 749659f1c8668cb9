import type { Statement, Transaction, Value } from './database.ts'

/** Runs a statement when those that were given before have ended, without being waited for. */
export type RunStatement = <Row>(statement: Statement, values: readonly Value[]) => Promise<Row[]>

/** The statements of a transaction. One that fails fails those after it, so that the first error is told for all. */
export class TransactionQueue implements Transaction {
  #failure: { readonly error: unknown } | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(readonly run: RunStatement) {}

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
