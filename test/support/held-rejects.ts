import { EventEmitter, once } from 'node:events'
import type { Rejects } from '../../src/feed/rejects.ts'

/** Rejects that hold a batch before its commit, until they are released. */
export interface HeldRejects {
  readonly rejects: Rejects
  /** Resolves when a batch is held. */
  readonly isHeld: Promise<unknown>
  release(): void
}

/** Creates rejects by which a test keeps a transaction open. */
export function heldRejects(): HeldRejects {
  const events = new EventEmitter()
  return {
    isHeld: once(events, 'held'),
    release: () => void events.emit('released'),
    rejects: {
      file: 'none',
      write: async () => {
        events.emit('held')
        await once(events, 'released')
      },
    },
  }
}
