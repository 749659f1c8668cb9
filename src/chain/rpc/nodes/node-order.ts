import type { FaultTimes, Report } from '../fault-watch.ts'
import type { Node } from '../node.ts'

/** A node is slow whose answers take this number of times as long as those of the quickest one, */
const slowFactor = 4
/** and longer than this: within its rate limit, a node then answers less than half as many requests as others. */
const slowMilliseconds = 500
/** Time after which one request is sent to a slow node first, and for which all nodes are used after a contradiction. */
const trialMilliseconds = 60_000

/** Options of {@link NodeOrder}. */
export interface NodeOrderOptions {
  readonly report: Report
  readonly times: Pick<FaultTimes, 'repeatedAfter'>
}

/** The order in which nodes are used: in turn, and after the others those that are slow or do not answer in time. */
export class NodeOrder {
  /** When the slow nodes were last tried. */
  readonly #tried = new Map<Node, number>()
  readonly #reported = new Map<Node, number>()
  #allUntil = -Infinity

  constructor(
    readonly nodes: readonly Node[],
    readonly options: NodeOrderOptions,
  ) {}

  /**
   * Returns all nodes in turn from one on, the slow ones last. Once a minute a slow one is first, to measure it again.
   * @param confirms whether the order is for an answer that another node confirms: then only nodes that do not answer in
   * time are last
   */
  inOrder(first: number, confirms: boolean): Node[] {
    const now = performance.now()
    const turns = this.nodes.map((_, index) => this.nodes[(first + index) % this.nodes.length] as Node)
    const slow = this.#slow()
    for (const node of this.nodes) this.#note(node, slow.has(node), now)
    if (confirms || now < this.#allUntil) return turns.sort((a, b) => Number(isSilent(a)) - Number(isSilent(b)))
    const due = turns.find((node) => now - (this.#tried.get(node) ?? now) >= trialMilliseconds)
    if (due !== undefined) this.#tried.set(due, now)
    const delayOf = (node: Node): number => (node === due ? -1 : (slow.get(node) ?? 0))
    return turns.sort((a, b) => delayOf(a) - delayOf(b) || 0)
  }

  /** Uses all nodes in turn for a minute, also slow ones: an answer contradicts others, and any node may be wrong. */
  useAll(): void {
    this.#allUntil = performance.now() + trialMilliseconds
  }

  isSlow(node: Node): boolean {
    return this.#slow().has(node)
  }

  /** Returns the slow nodes, with the milliseconds of their answers. */
  #slow(): Map<Node, number> {
    const measured = this.nodes.map((node): [Node, number] => [node, node.times.quickestMilliseconds ?? 0])
    const known = measured.filter(([{ times }]) => times.quickestMilliseconds !== null)
    const quickest = Math.min(...known.map(([, milliseconds]) => milliseconds))
    const limit = Math.max(slowMilliseconds, slowFactor * quickest)
    return new Map(measured.filter(([, milliseconds]) => milliseconds > limit))
  }

  #note(node: Node, isSlow: boolean, now: number): void {
    if (!isSlow) return void this.#tried.delete(node)
    if (this.#tried.has(node)) return
    this.#tried.set(node, now)
    if (now - (this.#reported.get(node) ?? -Infinity) < this.options.times.repeatedAfter) return
    this.#reported.set(node, now)
    const { name, times } = node
    if (isSilent(node)) {
      return this.options.report('warn', "A node doesn't answer in time: the others are used first", { node: name })
    }
    const milliseconds = Math.round(times.quickestMilliseconds ?? 0)
    this.options.report('info', 'A node answers slowly: the others are used first', { node: name, milliseconds })
  }
}

function isSilent({ times }: Node): boolean {
  return times.quickestMilliseconds === Infinity
}
