import type { ChangeListener, CommitReports } from '../../commits/change-listener.ts'
import type { Warn } from '../read-pools.ts'
import { type AgeLimits, type Candidate, chooseReplica, reasonToLeave } from './choose-replica.ts'
import { CommitFollower } from './commit-follower.ts'
import { PrimaryLog } from './primary-log.ts'
import { leave, openReadServer, type ReadServer } from './read-server.ts'
import { Replica } from './replica.ts'
import { nullIfLate, Rounds } from './rounds.ts'
import { ReportedState } from './reported-state.ts'
import { replicaTiming } from './timing.ts'

/** Options of {@link ReplicaMonitor}. */
export interface MonitorOptions {
  readonly primaryUrl: string
  /** The replicas, the preferred one first. */
  readonly urls: readonly string[]
  /** Maximum number of connections for reads. */
  readonly connections: number
  readonly staleSeconds: number
  readonly warn: Warn
}

/** Chooses the server that this process reads from, proves the age of its data, and switches to another one where necessary. */
export class ReplicaMonitor {
  readonly #options: MonitorOptions
  readonly #limits: AgeLimits
  readonly #primary: PrimaryLog
  readonly replicas: readonly Replica[]
  readonly #reported = new ReportedState()
  readonly #followers = new Set<CommitFollower>()
  readonly #rounds = new Rounds(() => this.#round())
  #server: ReadServer | null = null
  /** The server that was left last, with the reason: its connections are reused where it is chosen again. */
  #left: { readonly server: ReadServer; readonly reason: string } | null = null
  #leftAt = performance.now()
  /** Time of the last search for standbys, or at which the server was one. */
  #lookedAt = performance.now()
  /** Why no server can be read from, without the numbers in it, and since when. */
  #since = { reasons: '', at: performance.now() }
  /** The reasons of the last warning; null while a server is read from. */
  #warnedOf: string | null = null
  #moves = 0

  constructor(options: MonitorOptions) {
    const { staleSeconds, urls, primaryUrl } = options
    this.#options = options
    const lagging = Math.min(replicaTiming.laggingSeconds, staleSeconds / 2)
    this.#limits = { stale: staleSeconds * 1000, lagging: lagging * 1000 }
    this.replicas = urls.map((url) => new Replica(url, () => this.#rounds.wake()))
    this.#primary = new PrimaryLog(primaryUrl, () => {
      for (const { proof } of this.replicas) proof.forgetTargets()
    })
  }

  get server(): ReadServer | null {
    return this.#server
  }

  /** Number of switches to another server. */
  get moves(): number {
    return this.#moves
  }

  /** Reason why the primary reports no position, as words to follow its name; null where it does. */
  get primaryProblem(): string | null {
    return this.#primary.problem
  }

  get isLagging(): boolean {
    return this.ageMilliseconds > this.#limits.lagging
  }

  /** Proved age of the data that is read now, or was read last; Infinity where none is proved. */
  get ageMilliseconds(): number {
    if (this.#server !== null) return this.#candidate(this.#server.replica).ageMilliseconds
    const proved = [this.#reported.provenAt, ...this.replicas.map(({ proof }) => proof.provenAt)]
    return performance.now() - Math.max(...proved.map((at) => at ?? -Infinity))
  }

  /** Polls all servers once, and then repeatedly until {@link stop}. */
  async start(): Promise<void> {
    await this.#round(Infinity)
    this.#rounds.start(() =>
      this.#server === null ? replicaTiming.searchMilliseconds : replicaTiming.pollMilliseconds,
    )
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
    await Promise.all(Array.from(this.#followers, (follower) => follower.leave()))
    this.#primary.close()
    for (const replica of this.replicas) replica.release()
    await Promise.all([this.#server?.end(), this.#left?.server.end()])
  }

  /** Reports the commits of the server that is read from to a listener. */
  listen(listener: ChangeListener): CommitReports {
    const follower = new CommitFollower(listener, this.#reported)
    this.#followers.add(follower)
    if (this.#server !== null) follower.follow(this.#server)
    return {
      pollSoon: () => follower.pollSoon(),
      stop: () => {
        this.#followers.delete(follower)
        return follower.leave()
      },
    }
  }

  /**
   * Waits for another server than one that has failed, or for the same one once it is chosen again.
   * @param failed null where there was none
   * @returns null where the same one remains, none is found in time, or the monitor is stopped
   */
  async after(failed: ReadServer | null): Promise<ReadServer | null> {
    const until = performance.now() + replicaTiming.waitMilliseconds
    // A round that is running may have polled before the failure.
    for (let rounds = 0; performance.now() < until && !this.#rounds.isStopped; rounds++) {
      const server = this.#server
      if (server !== null && server !== failed) return server
      const isOver = server === null && performance.now() > this.#leftAt + replicaTiming.waitMilliseconds
      if (isOver || (server !== null && rounds > 1)) return null
      this.#rounds.wake()
      await this.#rounds.next()
    }
    return null
  }

  async #round(milliseconds: number = replicaTiming.askMilliseconds): Promise<void> {
    const target = await nullIfLate(milliseconds, this.#primary.ask())
    const current = this.#server?.replica
    const isSearching = current === undefined || this.isLagging || this.#isReturning(current)
    if (target !== null && isSearching) await this.#reported.verify(target, this.#primary.contains.bind(this.#primary))
    const queried = this.replicas.filter((replica) => isSearching || replica === current)
    for (const replica of this.replicas) if (!queried.includes(replica)) replica.release()
    const { head } = this.#reported
    const checks = queried.map((one) => one.check(this.#primary.identity, target, one === current ? null : head))
    await nullIfLate(milliseconds, Promise.all(checks))
    // Without a target nothing was compared.
    if (target !== null && queried.some((one) => one.contradictsPrimary)) this.#primary.reconnect()
    this.#decide()
  }

  /** Whether to search for standbys while the primary is read from: for several rounds, because each is polled twice. */
  #isReturning({ isPrimary }: Replica): boolean {
    const since = performance.now() - this.#lookedAt
    if (!isPrimary || since > replicaTiming.returnMilliseconds) this.#lookedAt = performance.now()
    return isPrimary && since < 4 * replicaTiming.pollMilliseconds
  }

  #decide(): void {
    const current = this.#server
    if (current === null) {
      const all = this.replicas.map((replica) => this.#candidate(replica))
      const chosen = chooseReplica(all, this.#limits)
      if (chosen !== undefined) this.#moveTo(chosen.replica)
      else this.#warnOfNone()
      return
    }
    const others = this.replicas.filter((replica) => replica !== current.replica)
    const candidates = others.map((replica) => this.#candidate(replica))
    const reason = reasonToLeave(this.#candidate(current.replica), candidates, this.#limits)
    if (reason !== null) this.#leave(current, reason)
  }

  #candidate(replica: Replica): Candidate & { readonly replica: Replica } {
    const { head, provenAt } = this.#reported
    const isCurrent = replica === this.#server?.replica
    const isQueried = isCurrent || replica.checkedFor === head
    const problem = replica.problem ?? (isQueried ? null : 'has not been queried yet')
    // A server that has the newest commit reported to clients is at least as new as that.
    const inherited = problem === null && head !== null ? provenAt : null
    const at = Math.max(replica.proof.provenAt ?? -Infinity, inherited ?? -Infinity)
    return { replica, problem, ageMilliseconds: performance.now() - at, isPrimary: replica.isPrimary }
  }

  /** Reads from no server until the next round has found one that has the newest commit reported to clients. */
  #leave(server: ReadServer, reason: string): void {
    this.#server = null
    this.#left = { server, reason }
    this.#leftAt = performance.now()
    for (const follower of this.#followers) void follower.leave()
    this.#rounds.wake()
  }

  #moveTo(replica: Replica): void {
    const left = this.#left
    const isSame = left?.server.replica === replica
    const { connections, warn } = this.#options
    // A new object, by which a failed read detects that it may retry.
    this.#server = isSame ? { ...left.server } : openReadServer(replica, connections, warn)
    if (left !== null && !isSame) {
      this.#moves++
      void leave(left.server)
      warn(`Reads go to PostgreSQL at ${replica.name} now: ${left.server.replica.name} ${left.reason}`)
    } else if (this.#warnedOf !== null) warn(`Reads go to PostgreSQL at ${replica.name} again`)
    this.#left = null
    this.#warnedOf = null
    for (const follower of this.#followers) follower.follow(this.#server)
  }

  /** Warns of reasons that last, and again where they have become other ones. */
  #warnOfNone(): void {
    const problems = this.replicas.map((replica) => {
      const { problem, ageMilliseconds } = this.#candidate(replica)
      const age = ageMilliseconds === Infinity ? 'unknown' : `${Math.floor(ageMilliseconds / 1000)} s`
      return `${replica.fullName} ${problem ?? `has data of an age of ${age}`}`
    })
    const primary = this.primaryProblem === null ? [] : [`the primary ${this.primaryProblem}`]
    const text = [...problems, ...primary].join('; ')
    // Ages and numbers of commits grow.
    const reasons = text.replace(/\d+/g, '')
    if (this.#since.reasons !== reasons) this.#since = { reasons, at: performance.now() }
    const lasts = performance.now() >= this.#since.at + replicaTiming.waitMilliseconds
    if (this.#warnedOf === reasons || !lasts) return
    this.#warnedOf = reasons
    this.#options.warn(`No server of READ_URLS can be read from: ${text}`)
  }
}
