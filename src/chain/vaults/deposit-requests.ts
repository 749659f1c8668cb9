import type { Address, Hex } from 'viem'

/** An ERC-7540 deposit request. The vault reports its state by id and controller. */
export interface DepositRequest {
  readonly requestId: bigint
  readonly controller: Address
  /** The account from which the vault has taken the assets. */
  readonly owner: Address
  readonly assets: bigint
  /** Number of the block of the request. */
  readonly block: number
  /** Hash of that block. */
  readonly blockHash: Hex
  readonly txHash: Hex
  readonly logIndex: number
}

/** An immutable snapshot of the deposit requests to a vault up to the end of a block. */
export interface RequestSnapshot {
  /** Returns the newest request of each id and controller that is not known to be settled at the end of a block. */
  openAt(block: number): readonly DepositRequest[]
  /** Records that no assets of a request are pending or claimable at the end of a block. */
  settle(request: DepositRequest, block: number): void
}

/** The snapshot of a vault without requests. */
export const noRequests: RequestSnapshot = { openAt: () => [], settle: () => undefined }

/** Number of requests at which superseded and settled ones are removed. */
const minRemoved = 1_024

/**
 * The deposit requests to a vault; anyone can make any number. A vault reports the sum of all requests of an id and
 * controller, so that the newest one represents them all. Settled requests are removed: only a new one can raise the
 * sum.
 */
export class DepositRequests {
  /** In the order of the logs; only appended to, or replaced as a whole, because snapshots share it. */
  #made: DepositRequest[] = []
  #maxMade = minRemoved
  /** The first block at whose end a request is known to be settled. */
  readonly #settledAt = new WeakMap<DepositRequest, number>()

  /** Adds a request that the vault has logged after all others. */
  add(request: DepositRequest): void {
    this.#made.push(request)
    if (this.#made.length < this.#maxMade) return
    // Known settlements precede this request, and later snapshots are read at its block or after.
    this.#made = this.#newestOf(this.#made).filter((one) => !this.#settledAt.has(one))
    this.#maxMade = Math.max(minRemoved, 2 * this.#made.length)
  }

  /** Returns the current requests. */
  snapshot(): RequestSnapshot {
    const [made, count] = [this.#made, this.#made.length]
    return {
      openAt: (block) =>
        this.#newestOf(made.slice(0, count)).filter((one) => (this.#settledAt.get(one) ?? Infinity) > block),
      settle: (request, block) =>
        void this.#settledAt.set(request, Math.min(block, this.#settledAt.get(request) ?? block)),
    }
  }

  #newestOf(made: readonly DepositRequest[]): DepositRequest[] {
    const newest = new Map<string, DepositRequest>()
    for (const request of made) newest.set(`${request.requestId} ${request.controller}`, request)
    return [...newest.values()]
  }
}
