import type { Rejects } from '../../src/feed/rejects/rejects.ts'
import { deferred } from './deferred.ts'

/** Rejects whose writes block until they are released, and so keep the transaction of a batch open. */
export interface BlockingRejects {
  readonly rejects: Rejects
  /** Resolves when a write is blocked. */
  readonly isBlocked: Promise<void>
  /** Completes all writes, also later ones. */
  release(): void
}

/** Creates blocking rejects, without a file. */
export function blockingRejects(): BlockingRejects {
  const [blocked, released] = [deferred(), deferred()]
  return {
    isBlocked: blocked.promise,
    release: released.resolve,
    rejects: {
      file: 'none',
      write: () => {
        blocked.resolve()
        return released.promise
      },
    },
  }
}
