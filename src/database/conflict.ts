/** What another writer has done meanwhile stands against this transaction: tried again, it sees it. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict'
}

/** SQLSTATEs that tell a transaction to try again: serialization failure, deadlock, unique violation. */
const conflicts = ['40001', '40P01', '23505']

/** Whether a transaction failed because another one wrote the same at once, so that trying again may succeed. */
export function isConflict(error: unknown): boolean {
  return error instanceof WriteConflict || conflicts.includes((error as { code?: string }).code ?? '')
}
