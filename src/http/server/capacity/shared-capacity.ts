import { Budget } from './budget.ts'

export interface CapacityLimits {
  /** Answers that are made at once in the process. */
  readonly answersUnderWay: number
  /** Bytes of bodies that are held at once in the process. */
  readonly bodiesBytes: number
}

/** What the requests of the whole process hold while they wait for their answers. One sender may hold half of each. */
export interface SharedCapacity {
  /** Counts an answer that is about to be made; false where too many are being made. */
  beginAnswer(sender: string): boolean
  endAnswer(sender: string): void
  bodyShare(sender: string): BodyShare
}

/** The bytes of one body. */
export interface BodyShare {
  /** Counts bytes that were read; false where too many are held in the process. */
  add(bytes: number): boolean
  release(): void
}

/** Counts what all requests hold, each kind up to its bound. */
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
