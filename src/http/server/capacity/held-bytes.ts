import { MaxHeap } from './max-heap.ts'

/** Bytes that several may hold at once, and that are in memory once. */
interface Body {
  readonly length: number
}

/**
 * The bytes that holders keep in memory, each body counted once however many hold it. Every operation takes logarithmic
 * time in the number of holders.
 */
export class HeldBytes<Holder> {
  #total = 0
  readonly #holdersOf = new Map<Body, Holders<Holder>>()
  /** By the bytes that only this holder holds, where there are any. */
  readonly #owners = new MaxHeap<Holder>()
  /** Bodies that several hold, by their bytes for each of those. */
  readonly #shared = new MaxHeap<Body>()

  get total(): number {
    return this.#total
  }

  /**
   * The holder without whom the most bytes would be free; or, where a body that several hold has more bytes for each of
   * them, the one that has held it the longest. Null where no bytes are held.
   */
  get greatest(): Holder | null {
    const [owner, body] = [this.#owners.heaviest, this.#shared.heaviest]
    if (body === null || (owner !== null && owner.weight >= body.weight)) return owner?.key ?? null
    return this.#holdersOf.get(body.key)?.oldest ?? null
  }

  /** Counts a body for a holder, which may hold it several times. */
  hold(holder: Holder, body: Body): void {
    const holders = this.#holdersOf.get(body) ?? new Holders<Holder>()
    if (holders.size === 0) this.#begin(body, holders)
    const before = holders.only
    if (!holders.add(holder)) return
    if (before !== null) this.#own(before, -body.length)
    this.#weigh(body, holders)
  }

  /** Ends one hold of a body. */
  release(holder: Holder, body: Body): void {
    const holders = this.#holdersOf.get(body)
    if (holders === undefined) return
    const before = holders.only
    if (!holders.remove(holder)) return
    if (before !== null) this.#own(before, -body.length)
    if (holders.size === 0) this.#end(body)
    else this.#weigh(body, holders)
  }

  #begin(body: Body, holders: Holders<Holder>): void {
    this.#holdersOf.set(body, holders)
    this.#total += body.length
  }

  #end(body: Body): void {
    this.#holdersOf.delete(body)
    this.#total -= body.length
  }

  /** Counts a body as its only holder's own, or as shared. */
  #weigh(body: Body, { only, size }: Holders<Holder>): void {
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

/** The holders of one body, and how often each of them holds it. */
class Holders<Holder> {
  readonly #times = new Map<Holder, number>()
  /** The oldest first: a map finds its first key slowly where many before it were deleted. */
  readonly #byAge = new MaxHeap<Holder>()
  #added = 0

  get size(): number {
    return this.#times.size
  }

  get oldest(): Holder | null {
    return this.#byAge.heaviest?.key ?? null
  }

  /** The holder, where there is one only. */
  get only(): Holder | null {
    return this.size === 1 ? this.oldest : null
  }

  /** @returns whether it is a new one */
  add(holder: Holder): boolean {
    const times = this.#times.get(holder) ?? 0
    this.#times.set(holder, times + 1)
    if (times === 0) this.#byAge.set(holder, -this.#added++)
    return times === 0
  }

  /** @returns whether it holds the body no more */
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
