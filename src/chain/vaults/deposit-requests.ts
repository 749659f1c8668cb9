import type { Address, Hex } from 'viem'

/** A request of ERC-7540 to deposit assets, whose state the vault tells by these two. */
export interface DepositRequest {
  readonly requestId: bigint
  readonly controller: Address
  /** The account from which the vault has taken the assets. */
  readonly owner: Address
  readonly assets: bigint
  /** Hash of the block of the request. */
  readonly blockHash: Hex
  readonly txHash: Hex
  readonly logIndex: number
}

/** The requests to deposit that were made of a vault up to the end of a block. Later ones do not change it. */
export interface RequestSnapshot {
  /** Returns the newest of each id and controller, without those that are known to be settled at the end of a block. */
  openAt(block: number): readonly DepositRequest[]
  /** Notes that nothing of a request is pending or claimable at the end of a block. */
  settle(request: DepositRequest, block: number): void
}

/** The snapshot of a vault without requests. */
export const noRequests: RequestSnapshot = { openAt: () => [], settle: () => undefined }

/** Number of requests from which on those that count no more are removed. */
const minRemoved = 1_024

/**
 * The requests to deposit that were made of a vault, which anybody can make in any number. A vault tells the sum of all
 * requests of an id and controller, so that the newest of them stands for all. One that is settled is forgotten: only
 * another one can raise that sum again, and stands for it then.
 */
export class DepositRequests {
  /** In the order of the logs. It only grows, until another one takes its place: snapshots are its first so many. */
  #made: DepositRequest[] = []
  #maxMade = minRemoved
  /** The block at whose end a request is known to be settled. */
  readonly #settledAt = new WeakMap<DepositRequest, number>()

  /** Adds a request that the vault has logged after all others. */
  add(request: DepositRequest): void {
    this.#made.push(request)
    if (this.#made.length < this.#maxMade) return
    // Settlements are known up to blocks before this request, and later snapshots are asked of blocks from it on.
    this.#made = this.#newestOf(this.#made).filter((one) => !this.#settledAt.has(one))
    this.#maxMade = Math.max(minRemoved, 2 * this.#made.length)
  }

  /** Returns the requests that were made up to now. */
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
