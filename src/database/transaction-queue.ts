import type { Statement, Transaction, Value } from './database.ts'

/** Runs a statement after the earlier ones have ended; the caller need not wait between statements. */
export type RunStatement = <Row>(statement: Statement, values: readonly Value[]) => Promise<Row[]>

/** Runs a COPY after the earlier statements have ended; the caller need not wait. */
export type RunCopy = (statement: Statement, rows: string) => Promise<unknown>

/**
 * The statements of a transaction. After one has failed, later ones fail with the same error, so that the caller sees
 * the first cause; statements that are still queued are not sent.
 */
export class TransactionQueue implements Transaction {
  #failure: { readonly error: unknown } | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    readonly run: RunStatement,
    readonly runCopy: RunCopy,
  ) {}

  query<Row>(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    return this.#queued(() => this.run<Row>(statement, values))
  }

  send(statement: Statement, values: readonly Value[]): void {
    void this.query(statement, values)
  }

  copy(statement: Statement, rows: string): void {
    void this.#queued(() => this.runCopy(statement, rows))
  }

  /**
   * Resolves when all statements have ended.
   * @throws the first error
   */
  async end(): Promise<void> {
    await this.#last
    this.#throwFailure()
  }

  #queued<Result>(run: () => Promise<Result>): Promise<Result> {
    const running = this.#unlessFailed(run)
    this.#last = running.catch(() => undefined)
    return running
  }

  async #unlessFailed<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#throwFailure()
    try {
      const result = await run()
      this.#throwFailure()
      return result
    } catch (error) {
      this.#failure ??= { error }
      throw this.#failure.error
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
