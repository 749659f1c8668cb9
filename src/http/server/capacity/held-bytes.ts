import { MaxHeap } from '../../../fairness/max-heap.ts'

/** A buffer that several holders may share, and that is in memory once. */
export interface HeldBody {
  readonly length: number
}

/**
 * Counts the bytes that holders retain in memory, each shared buffer once. Every operation takes logarithmic time in
 * the number of holders.
 */
export class HeldBytes<Holder> {
  #total = 0
  readonly #holdersOf = new Map<HeldBody, Holders<Holder>>()
  /** Holders by the bytes that only they retain, if any. */
  readonly #owners = new MaxHeap<Holder>()
  /** Shared bodies, by their bytes per holder. */
  readonly #shared = new MaxHeap<HeldBody>()

  get total(): number {
    return this.#total
  }

  /**
   * The holder whose removal frees the most bytes; or, if a shared body has more bytes per holder, the oldest holder of
   * that body. Null if no bytes are held.
   */
  get greatest(): Holder | null {
    const [owner, body] = [this.#owners.heaviest, this.#shared.heaviest]
    if (body === null || (owner !== null && owner.weight >= body.weight)) return owner?.key ?? null
    return this.#holdersOf.get(body.key)?.oldest ?? null
  }

  /** Counts a body for a holder, which may hold it several times. */
  hold(holder: Holder, body: HeldBody): void {
    const holders = this.#holdersOf.get(body) ?? new Holders<Holder>()
    if (holders.size === 0) this.#addBody(body, holders)
    const before = holders.only
    if (!holders.add(holder)) return
    if (before !== null) this.#own(before, -body.length)
    this.#weigh(body, holders)
  }

  /** Releases one hold of a body. */
  release(holder: Holder, body: HeldBody): void {
    const holders = this.#holdersOf.get(body)
    if (holders === undefined) return
    const before = holders.only
    if (!holders.remove(holder)) return
    if (before !== null) this.#own(before, -body.length)
    if (holders.size === 0) this.#end(body)
    else this.#weigh(body, holders)
  }

  #addBody(body: HeldBody, holders: Holders<Holder>): void {
    this.#holdersOf.set(body, holders)
    this.#total += body.length
  }

  #end(body: HeldBody): void {
    this.#holdersOf.delete(body)
    this.#total -= body.length
  }

  /** Counts a body as owned by its only holder, or as shared. */
  #weigh(body: HeldBody, { only, size }: Holders<Holder>): void {
    if (only === null) return this.#shared.set(body, body.length / size)
    this.#shared.delete(body)
    this.#own(only, body.length)
  }

  #own(holder: Holder, bytes: number): void {
    const own = (this.#owners.weightOf(holder) ?? 0) + bytes
    if (own > 0) this.#owners.set(holder, own)
    else this.#owners.delete(holder)
  }
}

/** The holders of one body, with the number of holds of each. */
class Holders<Holder> {
  readonly #times = new Map<Holder, number>()
  /** Holders, the oldest first: a Map finds its first key slowly if many before it were deleted. */
  readonly #byAge = new MaxHeap<Holder>()
  #added = 0

  get size(): number {
    return this.#times.size
  }

  get oldest(): Holder | null {
    return this.#byAge.heaviest?.key ?? null
  }

  /** The only holder; null if there are several or none. */
  get only(): Holder | null {
    return this.size === 1 ? this.oldest : null
  }

  /**
   * Adds one hold of a holder.
   * @returns whether the holder is new
   */
  add(holder: Holder): boolean {
    const times = this.#times.get(holder) ?? 0
    this.#times.set(holder, times + 1)
    if (times === 0) this.#byAge.set(holder, -this.#added++)
    return times === 0
  }

  /**
   * Removes one hold of a holder.
   * @returns whether that was its last hold
   */
  remove(holder: Holder): boolean {
    const times = this.#times.get(holder)
    if (times === undefined) return false
    this.#times.set(holder, times - 1)
    if (times > 1) return false
    this.#times.delete(holder)
    this.#byAge.delete(holder)
    return true
  }
}
