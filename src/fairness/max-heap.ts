/**
 * A binary max-heap of weighted keys with an index of their places. Setting or deleting a key takes logarithmic time
 * in their number.
 * @see https://en.wikipedia.org/wiki/Binary_heap
 */
export class MaxHeap<Key> {
  readonly #keys: Key[] = []
  readonly #weights: number[] = []
  readonly #places = new Map<Key, number>()

  get size(): number {
    return this.#keys.length
  }

  /** The key with the greatest weight, and that weight; null if there are no keys. */
  get heaviest(): { readonly key: Key; readonly weight: number } | null {
    return this.size === 0 ? null : { key: this.#keys[0] as Key, weight: this.#weightAt(0) }
  }

  /** Returns the weight of a key; null if the heap does not contain it. */
  weightOf(key: Key): number | null {
    const place = this.#places.get(key)
    return place === undefined ? null : this.#weightAt(place)
  }

  /** Adds a key, or changes its weight. */
  set(key: Key, weight: number): void {
    const place = this.#places.get(key) ?? this.size
    this.#put(place, key, weight)
    this.#settle(place)
  }

  /** Removes a key, if the heap contains it. */
  delete(key: Key): void {
    const place = this.#places.get(key)
    if (place === undefined) return
    this.#places.delete(key)
    const last = this.#keys.pop() as Key
    const weight = this.#weights.pop() ?? 0
    // The last key moves to the vacant place, unless that was its own.
    if (place === this.size) return
    this.#put(place, last, weight)
    this.#settle(place)
  }

  /** Moves the key at a place up or down until no parent is lighter than its children. */
  #settle(start: number): void {
    let place = start
    while (place > 0 && this.#weightAt(parentOf(place)) < this.#weightAt(place)) {
      place = this.#swap(place, parentOf(place))
    }
    for (let child = this.#heavierChild(place); child !== null; child = this.#heavierChild(place)) {
      place = this.#swap(place, child)
    }
  }

  /** Returns the heavier child of a place, if it is heavier than the place itself. */
  #heavierChild(place: number): number | null {
    const left = 2 * place + 1
    const right = left + 1
    const child = this.#weightAt(right) > this.#weightAt(left) ? right : left
    return this.#weightAt(child) > this.#weightAt(place) ? child : null
  }

  /** Returns the weight at a place; -Infinity beyond the last one. */
  #weightAt(place: number): number {
    return this.#weights[place] ?? -Infinity
  }

  /**
   * Swaps two places.
   * @returns the second place
   */
  #swap(first: number, second: number): number {
    const [key, weight] = [this.#keys[first] as Key, this.#weightAt(first)]
    this.#put(first, this.#keys[second] as Key, this.#weightAt(second))
    this.#put(second, key, weight)
    return second
  }

  #put(place: number, key: Key, weight: number): void {
    this.#keys[place] = key
    this.#weights[place] = weight
    this.#places.set(key, place)
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 1
}
