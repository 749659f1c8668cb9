import { ReadCancelled } from './errors.ts'
import type { Read, Value, Versioned, VersionedReader } from './database.ts'
import { RecoveryConflict } from './errors.ts'
import { decodeRows } from './decode-rows.ts'

/** Sends a read to the snapshot and gives the rows as they were sent. */
export type SendRead = (read: Read, values: readonly Value[]) => Promise<unknown[]>

/**
 * The reads of one snapshot. The first that fails fails those after it by its own error, since the server says of them
 * only that their transaction is aborted; after the end of the snapshot none is sent.
 */
export class SnapshotReads implements VersionedReader {
  #failure: { readonly error: unknown } | undefined

  constructor(readonly send: SendRead) {}

  async read<Row>(read: Read, values: readonly Value[]): Promise<Versioned<Row>> {
    if (this.#failure !== undefined) throw this.#failure.error
    try {
      return decodeRows<Row>(read, await this.send(read, values))
    } catch (error) {
      this.#failure ??= { error }
      throw this.#failure.error
    }
  }

  /** Whether a read failed since the server had to give up the snapshot: another one may succeed. */
  get isInConflict(): boolean {
    return this.#failure?.error instanceof RecoveryConflict
  }

  end(): void {
    this.#failure ??= { error: new ReadCancelled() }
  }
}
