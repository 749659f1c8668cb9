import type { Rejects } from '../../src/feed/rejects.ts'
import { deferred } from './deferred.ts'

/** Rejects that hold each batch before its commit, until they are released for good. */
export interface HeldRejects {
  readonly rejects: Rejects
  /** Resolves when a batch is held. */
  readonly isHeld: Promise<void>
  release(): void
}

/** Creates rejects by which a test keeps a transaction open. */
export function heldRejects(): HeldRejects {
  const [held, released] = [deferred(), deferred()]
  return {
    isHeld: held.promise,
    release: released.resolve,
    rejects: {
      file: 'none',
      write: () => {
        held.resolve()
        return released.promise
      },
    },
  }
}
