import type { Statement, Transaction, Value } from './database.ts'

/** Runs a statement after those before it have ended; the caller need not wait between statements. */
export type RunStatement = <Row>(statement: Statement, values: readonly Value[]) => Promise<Row[]>

/**
 * The statements of a transaction. After one has failed, later ones fail with the same error, so that the caller sees
 * the first cause.
 */
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

  /**
   * Resolves when all statements have ended.
   * @throws the first error
   */
  async end(): Promise<void> {
    await this.#last
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
