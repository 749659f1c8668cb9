import { isVaultScopedId } from '../../../domain/identity/global-id.ts'

/** Counts of one list, without the lists inside its elements. */
interface ListCounts {
  /** Number of different elements. */
  readonly distinct: number
  /** Number of global ids that refer to a past moment. */
  readonly moments: number
  /** Number of elements, with those of all lists inside them. */
  readonly elements: number
}

const noList: ListCounts = { distinct: 0, moments: 0, elements: 0 }

/** Counts the elements of lists, each list once: many fields may have one variable as an argument. */
export class CountedLists {
  readonly #known = new Map<object, ListCounts>()

  /** Returns the counts of a list; zeros for any other value. */
  of(value: unknown): ListCounts {
    if (!Array.isArray(value)) return noList
    const counts = this.#known.get(value) ?? this.#count(value)
    this.#known.set(value, counts)
    return counts
  }

  /** Returns the number of elements of all lists in an input value: each is compared with rows. */
  elementsIn(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 0
    if (Array.isArray(value)) return this.of(value).elements
    return Object.values(value).reduce((sum: number, part) => sum + this.elementsIn(part), 0)
  }

  #count(list: readonly unknown[]): ListCounts {
    return {
      distinct: new Set(list).size,
      moments: list.filter(isOfMoment).length,
      elements: list.reduce((sum: number, element) => sum + this.elementsIn(element), list.length),
    }
  }
}

/** Returns whether a global id refers to a vault at a past moment, or to a position of such a vault. */
export function isOfMoment(id: unknown): boolean {
  return typeof id === 'string' && isVaultScopedId(id) && id.includes('@')
}
