import { Budget } from '../../../fairness/budget.ts'

export interface CapacityLimits {
  /** Maximum number of responses in production in the process. */
  readonly responsesInProduction: number
  /** Maximum bytes of request bodies in memory in the process. */
  readonly bodiesBytes: number
}

/**
 * Capacity of the process for all requests while they wait for their responses. One sender may take a fair share of
 * each kind.
 */
export interface ProcessCapacity {
  /** Responses in production. */
  readonly responsesInProduction: Budget
  /** Bytes of request bodies. */
  readonly bodies: Budget
}

/** Creates the capacity, with a limit for each kind. */
export function createProcessCapacity({ responsesInProduction, bodiesBytes }: CapacityLimits): ProcessCapacity {
  return { responsesInProduction: new Budget(responsesInProduction), bodies: new Budget(bodiesBytes) }
}

/** The bytes of one request body that are in memory. */
export class BodyShare {
  #bytes = 0

  constructor(
    readonly bodies: Budget,
    readonly sender: string,
  ) {}

  /** Counts bytes that were read; returns false if too many are in memory in the process. */
  add(bytes: number): boolean {
    if (!this.bodies.take(this.sender, bytes)) return false
    this.#bytes += bytes
    return true
  }

  release(): void {
    this.bodies.giveBack(this.sender, this.#bytes)
    this.#bytes = 0
  }
}
