import { ChainUnreadable, NodeResting } from '../errors.ts'
import type { ExplainedFault } from './faults.ts'
import type { Node } from './node.ts'
import { type LastingFault, rateLimited } from './nodes/lasting-faults.ts'

/** Reports an event to the operator. */
export type Report = (
  level: 'info' | 'warn' | 'error',
  message: string,
  facts: Readonly<Record<string, unknown>>,
) => void

/** Times of faults that last, in milliseconds. */
export interface FaultTimes {
  /** Time after which a fault counts as lasting: nodes behind one load balancer differ by some blocks for seconds. */
  readonly reportedAfter: number
  /** The same for rate limits and errors of unknown cause: a node that is syncing returns some for minutes. */
  readonly unexplainedReportedAfter: number
  /** Time after that until a reader that does not follow the chain gives up: somebody waits for its result. */
  readonly givesUpAfter: number
  /** Minimum time between two logs of the same problem, except of a wait that lasts. */
  readonly repeatedAfter: number
}

/** The times of faults. src/chain/README.md states them too. */
export const defaultFaultTimes: FaultTimes = {
  reportedAfter: 10_000,
  unexplainedReportedAfter: 600_000,
  givesUpAfter: 50_000,
  repeatedAfter: 300_000,
}

/** Options of {@link FaultWatch}. */
export interface FaultWatchOptions {
  readonly report: Report
  readonly times: FaultTimes
  /** Whether to throw an error when a fault lasts, rather than wait for the operator. */
  readonly givesUp: boolean
  /** Called with the problem when a fault of the nodes starts to count as lasting, and with null when it has ended. */
  readonly onLastingFault: (problem: string | null) => void
}

interface NodeFailure {
  readonly node: Node
  readonly fault: ExplainedFault
}

/** Watches the failures of all requests: logs them, each problem at most once per interval, and reports lasting faults. */
export class FaultWatch {
  /** Requests that all nodes have failed, with the times of their first such rounds. */
  readonly #waiting = new Map<FailingRequest, number>()
  readonly #logged = new Map<string, number>()
  /** Whether the present wait is logged. */
  #isWaitLogged = false
  #problem: string | null = null

  constructor(readonly options: FaultWatchOptions) {}

  /** Starts to watch a request, which must be ended. */
  begin(): FailingRequest {
    return new FailingRequest(this)
  }

  /** Logs that all nodes have failed; within the interval after another wait only where it lasts, since a node may flap. */
  waits(request: FailingRequest, failures: readonly NodeFailure[], pauseMilliseconds: number): void {
    const now = performance.now()
    const since = this.#waiting.get(request) ?? now
    this.#waiting.set(request, since)
    if (!this.#isWaitLogged && now - since >= this.options.times.reportedAfter) this.#logged.delete('waits')
    const reasons = failures.map(({ node, fault }) => ({ node: node.name, reason: fault.reason }))
    const facts = reasons.length === 1 ? { ...reasons[0], pauseMilliseconds } : { nodes: reasons, pauseMilliseconds }
    if (this.#isDue('waits')) {
      this.options.report('warn', 'The chain is waited for', facts)
      this.#isWaitLogged = true
    }
    this.#update()
  }

  /** Logs a fault that lasts; within the interval after another time where it has ended in between. */
  lasts(failures: readonly NodeFailure[]): void {
    if (this.#isDue(problemsOfNodes(failures)) || !this.#isWaitLogged) {
      this.options.report('error', `The chain can't be read: ${describeFailures(failures)}`, {})
      this.#isWaitLogged = true
    }
    // The lasting fault is logged instead of the waiting that it causes.
    this.#logged.set('waits', performance.now())
  }

  /** Ends a request, with the nodes that failed before another one answered. */
  ended(request: FailingRequest, isAnswered: boolean, failures: readonly NodeFailure[]): void {
    if (isAnswered) this.#warnOfUselessNodes(failures)
    if (!this.#waiting.delete(request)) return
    this.#update()
    if (!isAnswered || this.#waiting.size > 0) return
    if (!this.#isWaitLogged) return
    this.options.report('info', 'The chain answers again', {})
    this.#isWaitLogged = false
  }

  #warnOfUselessNodes(failures: readonly NodeFailure[]): void {
    for (const { node, fault } of failures) {
      if (fault.lasting?.isOfNode !== true) continue
      const failure = [{ node, fault }]
      if (!this.#isDue(problemsOfNodes(failure))) continue
      this.options.report('warn', `Another node is used instead: ${describeFailures(failure)}`, {})
    }
  }

  #update(): void {
    const problem = [...this.#waiting.keys()].find((request) => request.problem !== null)?.problem ?? null
    if (problem === this.#problem) return
    this.#problem = problem
    this.options.onLastingFault(problem)
  }

  /** Returns whether a problem is due to be logged, and records it as logged. */
  #isDue(problem: string): boolean {
    const now = performance.now()
    for (const [old, at] of this.#logged) if (now - at >= this.options.times.repeatedAfter) this.#logged.delete(old)
    if (this.#logged.has(problem)) return false
    this.#logged.set(problem, now)
    return true
  }
}

/** A request that is repeated until a node answers it. */
export class FailingRequest {
  readonly #newest = new Map<Node, ExplainedFault>()
  #lastingSince: number | null = null
  /** The problem of all nodes, once it lasts. */
  problem: string | null = null

  constructor(readonly watch: FaultWatch) {}

  get #failures(): NodeFailure[] {
    return [...this.#newest].map(([node, fault]) => ({ node, fault }))
  }

  /** Whether all nodes have failed for reasons other than outages and rate limits. */
  get isLasting(): boolean {
    return [...this.#newest.values()].every(({ lasting }) => lasting !== null && lasting !== rateLimited)
  }

  failed(node: Node, error: unknown): void {
    // Keep the fault that caused the pause, which is more specific.
    if (error instanceof NodeResting && this.#newest.has(node)) return
    this.#newest.set(node, node.explain(error))
  }

  /**
   * Handles a round in which all nodes have failed.
   * @param pauseMilliseconds requested pause before the next round
   * @returns the pause, which is shorter where a fault starts to count as lasting before its end
   * @throws {ChainUnreadable} when a fault has lasted too long
   */
  roundFailed(pauseMilliseconds: number): number {
    const { times, givesUp } = this.watch.options
    const failures = this.#failures
    const lasting = failures.map(({ fault }) => fault.lasting)
    const known = lasting.filter((fault) => fault !== null)
    if (known.length === 0) {
      this.#lastingSince = null
      this.problem = null
      this.watch.waits(this, failures, pauseMilliseconds)
      return pauseMilliseconds
    }
    const now = performance.now()
    this.#lastingSince ??= now
    const lasted = now - this.#lastingSince
    const reportedAfter = known.every(({ isCertain }) => isCertain)
      ? times.reportedAfter
      : times.unexplainedReportedAfter
    // A quota is renewed and an outage ends: the reader does not give up because of them.
    const comesBack = lasting.some((fault) => fault === null || fault === rateLimited)
    const givesUpAfter = comesBack ? Infinity : reportedAfter + times.givesUpAfter
    if (givesUp && lasted >= givesUpAfter) {
      throw new ChainUnreadable(describeFailures(failures), Math.round(lasted / 1_000))
    }
    this.problem = lasted >= reportedAfter ? problemOf(lasting) : null
    const next = [reportedAfter, ...(givesUp ? [givesUpAfter] : [])].find((milliseconds) => milliseconds > lasted)
    const pause = Math.ceil(Math.min(pauseMilliseconds, (next ?? Infinity) - lasted))
    if (this.problem !== null) this.watch.lasts(failures)
    this.watch.waits(this, failures, pause)
    return pause
  }

  /** Ends the watch. */
  end(isAnswered: boolean): void {
    this.problem = null
    this.watch.ended(this, isAnswered, this.#failures)
  }
}

/** Describes the failures of nodes and their remedies, for the operator. */
function describeFailures(failures: readonly NodeFailure[]): string {
  return failures
    .map(({ node, fault: { reason, lasting } }) => {
      const known = lasting === null ? reason : `${lasting.problem}: it ${reason}. ${lasting.remedy}`
      return `the node ${node.name} ${known}`
    })
    .join('; ')
}

/** Identifies the problems of nodes. Their reasons differ from request to request where they contain its id. */
function problemsOfNodes(failures: readonly NodeFailure[]): string {
  return failures.map(({ node, fault }) => `${node.name} ${problemOf([fault.lasting])}`).join('; ')
}

function problemOf(faults: readonly (LastingFault | null)[]): string {
  const problems = faults.map((fault) => fault?.problem ?? 'is away')
  return [...new Set(problems)].map((problem) => `a node ${problem}`).join(', and ')
}
