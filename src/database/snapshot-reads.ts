import type { Read, Value, Versioned, VersionedReader } from './database.ts'
import { ReadCancelled, RecoveryConflict } from './errors.ts'
import { decodeRows } from './read/row-codec.ts'

/** Sends a read to the snapshot and resolves with the rows as the driver returns them. */
export type SendRead = (read: Read, values: readonly Value[]) => Promise<unknown[]>

/**
 * The reads of one snapshot. After a read has failed, later ones fail with the same error, because the server only
 * reports that the transaction is aborted. After the end of the snapshot no read is sent.
 */
export class SnapshotReads implements VersionedReader {
  #failure: { readonly error: unknown } | undefined

  constructor(readonly send: SendRead) {}

  async read<Row>(read: Read, values: readonly Value[]): Promise<Versioned<Row>> {
    if (this.#failure !== undefined) throw this.#failure.error
    try {
      return await decodeRows<Row>(read, await this.send(read, values))
    } catch (error) {
      this.#failure ??= { error }
      throw this.#failure.error
    }
  }

  /** Whether a read failed because of a recovery conflict, so that a new snapshot may succeed. */
  get isInConflict(): boolean {
    return this.#failure?.error instanceof RecoveryConflict
  }

  end(): void {
    this.#failure ??= { error: new ReadCancelled() }
  }
}
