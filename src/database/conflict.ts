/** What another writer has done meanwhile stands against this transaction: tried again, it sees it. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict'
}

/** SQLSTATEs that tell a transaction to try again: serialization failure, deadlock, unique violation. */
const conflicts = ['40001', '40P01', '23505']
/** The same in Prisma's own codes: unique constraint, write conflict or deadlock. */
const prismaConflicts = ['P2002', 'P2034']

/** Whether a transaction failed because another one wrote the same at once, so that trying again may succeed. */
export function isConflict(error: unknown): boolean {
  if (error instanceof WriteConflict) return true
  const { code, meta } = error as { code?: unknown; meta?: unknown }
  if (typeof code !== 'string') return false
  if (prismaConflicts.includes(code) || conflicts.includes(code)) return true
  const details = code === 'P2010' ? JSON.stringify(meta) : ''
  return conflicts.some((state) => details.includes(`"${state}"`)) || details.includes('UniqueConstraintViolation')
}
