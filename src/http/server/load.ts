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

/** An amount that senders share, none of whom may take more than half of it. */
class Budget {
  #taken = 0
  /** Of those who hold anything. */
  readonly #takenBy = new Map<string, number>()

  constructor(readonly most: number) {}

  take(sender: string, amount: number): boolean {
    const ofSender = (this.#takenBy.get(sender) ?? 0) + amount
    if (this.#taken + amount > this.most || ofSender > Math.ceil(this.most / 2)) return false
    this.#taken += amount
    this.#takenBy.set(sender, ofSender)
    return true
  }

  giveBack(sender: string, amount: number): void {
    this.#taken -= amount
    const ofSender = (this.#takenBy.get(sender) ?? 0) - amount
    if (ofSender > 0) this.#takenBy.set(sender, ofSender)
    else this.#takenBy.delete(sender)
  }
}
