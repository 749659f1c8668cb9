import { Budget } from './budget.ts'

export interface CapacityLimits {
  /** Maximum number of responses in production at once in the process. */
  readonly answersUnderWay: number
  /** Maximum bytes of request bodies in memory at once in the process. */
  readonly bodiesBytes: number
}

/**
 * Capacity shared by all requests of the process while they wait for their responses. One sender may take half of what the
 * others leave of each kind.
 */
export interface SharedCapacity {
  /** Counts a response whose production begins; returns false if too many are in production. */
  beginAnswer(sender: string): boolean
  endAnswer(sender: string): void
  bodyShare(sender: string): BodyShare
}

/** The bytes of one request body. */
export interface BodyShare {
  /** Counts bytes that were read; returns false if too many are in memory in the process. */
  add(bytes: number): boolean
  release(): void
}

/** Creates the shared capacity, with a limit for each kind. */
export function createSharedCapacity({ answersUnderWay, bodiesBytes }: CapacityLimits): SharedCapacity {
  const answers = new Budget(answersUnderWay)
  const bodies = new Budget(bodiesBytes)
  return {
    beginAnswer: (sender) => answers.take(sender, 1),
    endAnswer: (sender) => answers.giveBack(sender, 1),
    bodyShare(sender) {
      let own = 0
      return {
        add(bytes) {
          if (!bodies.take(sender, bytes)) return false
          own += bytes
          return true
        },
        release() {
          bodies.giveBack(sender, own)
          own = 0
        },
      }
    },
  }
}
