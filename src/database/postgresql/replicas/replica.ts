import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { readAddress } from '../server-address.ts'
import { type DatabaseIdentity, endOfRecord, foreignReason, LogProbe, type LoggedHead } from './log-probe.ts'
import { type LogTarget, ReplayProof } from './replay-proof.ts'

/** Delay before a second poll where the position is not replayed yet: replay takes a few milliseconds. */
const replayMilliseconds = 30

/** Maximum time that a commit may be pending on the primary: until a cluster has named another synchronous standby. */
const pendingMilliseconds = 60_000

/** The known state of a server of READ_URLS. */
export class Replica {
  readonly url: string
  /** Host and port. */
  readonly name: string
  /** Host, port and database, for messages: several databases of a server have one name. */
  readonly fullName: string
  readonly proof = new ReplayProof()
  /** Reason why it cannot be read from, as words to follow its name; null where it can. */
  problem: string | null = 'has not been queried yet'
  /** Whether it is of another cluster, or another database, than the primary. */
  isForeign = false
  /** Whether it accepted writes at the last poll. */
  isPrimary = false
  /** Whether its connection has ended since the last poll. */
  isLost = false
  /** The commit that the last poll required. */
  checkedFor: LoggedHead | null = null
  readonly #onLost: () => void
  #probe: LogProbe | null = null
  #isBusy = false
  #followedRun: string | null = null
  /** Run of this server at the last connection: another run may have another history. */
  #run: string | null = null
  /** Its newest commit, the position that was read before it, and the time of both. */
  #head: { readonly commit: LoggedHead; readonly lsn: bigint; readonly at: number } | null = null
  /** Time since which it has commits that are not visible on the primary; null where it has none. */
  #aheadSince: number | null = null
  /** How the last comparison with the primary showed that both do not have the same history; null where it did not. */
  #contradiction: string | null = null

  /** @param onLost called when its connection ends unexpectedly */
  constructor(url: string, onLost: () => void) {
    this.url = url
    const { name, database } = readAddress(url)
    this.name = name
    this.fullName = `${name}/${database}`
    this.#onLost = onLost
  }

  /**
   * Run of the primary whose history this server followed at the last comparison; null while this server accepts writes. A commit
   * that is visible only here is pending: with synchronous replication, a primary sends a commit before it is visible there.
   */
  get followedRun(): string | null {
    return this.isPrimary ? null : this.#followedRun
  }

  /** Whether the last comparison showed that it and the primary do not have the same history. */
  get contradictsPrimary(): boolean {
    return this.#contradiction !== null
  }

  /**
   * Polls the position of the server, unless a poll is running; {@link problem} and {@link proof} hold the result.
   * @param primary the primary's database; null where that is not known
   * @param target position of the primary now; null where the primary does not report it
   * @param reported the newest commit reported to clients, which the server must have; null for none
   */
  async check(primary: DatabaseIdentity | null, target: LogTarget | null, reported: LoggedHead | null): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    this.checkedFor = reported
    try {
      const probe = (this.#probe ??= await this.#connect(primary))
      this.problem = await this.#problemOf(probe, target, reported)
    } catch (error) {
      this.#lose(problemOf(error))
    } finally {
      this.#isBusy = false
    }
  }

  /** Closes its connection until the next {@link check}. */
  release(): void {
    const probe = this.#probe
    this.#forget()
    this.problem = 'has not been queried yet'
    probe?.close()
  }

  async #connect(primary: DatabaseIdentity | null): Promise<LogProbe> {
    const probe = await LogProbe.connect(this.url)
    probe.onEnd(() => {
      if (this.#probe !== probe) return
      this.#lose('has ended the connection')
      this.#onLost()
    })
    const foreign = primary === null ? null : foreignReason(probe.identity, primary)
    this.isForeign = foreign !== null
    this.isLost = false
    if (probe.run !== this.#run) this.#followedRun = null
    this.#run = probe.run
    if (foreign === null) return probe
    probe.close()
    throw new Error(foreign)
  }

  async #problemOf(probe: LogProbe, target: LogTarget | null, reported: LoggedHead | null): Promise<string | null> {
    const before = this.#head
    if (target !== null) this.proof.expect(target)
    let { lsn, isStandby } = await probe.position()
    if (target !== null && lsn < target.lsn) {
      await wait(replayMilliseconds)
      ;({ lsn, isStandby } = await probe.position())
    }
    this.isPrimary = !isStandby
    const seenAt = performance.now()
    // Commits up to the position are visible to the statements after it.
    const commit = await probe.head()
    this.#head = { commit, lsn, at: performance.now() }
    const isComparable = target !== null && before !== null && before.at < target.at
    // A primary that was polled after this server cannot lag behind it, if this server follows that primary.
    const isOfOther = isComparable && isStandby && before.lsn > target.insertLsn
    if (isOfOther) this.#followedRun = null
    const isAhead = isComparable && isBeyond(before.commit, target.head)
    this.#aheadSince = isAhead ? (this.#aheadSince ?? seenAt) : null
    const isPending = this.followedRun === target?.run && seenAt - (this.#aheadSince ?? seenAt) < pendingMilliseconds
    // That primary has all commits of this server, unless they are pending or a failover has lost them.
    if (isAhead && !isPending) return this.#refuse(`has commit ${before.commit.version}, which the primary lacks`)
    if (isOfOther) return this.#refuse('has replayed more of the log than the primary has')
    if (isComparable) this.#contradiction = null
    if (this.#contradiction !== null) return this.#contradiction
    const reached = this.proof.reachedBy(lsn)
    const isProved = reached !== null && (await probe.contains(reached.head, commit))
    if (isProved) this.proof.prove(reached, seenAt)
    else if (reached !== null && lsn >= endOfRecord(reached.insertLsn)) {
      return this.#refuse(`lacks commit ${reached.head.version} of the primary at the same position of the log`)
    }
    if (isComparable && !isAhead && isProved && reached === target) this.#followedRun = target.run
    if (reported !== null && !(await probe.contains(reported, commit))) {
      return `has not reached commit ${reported.version}, which was already reported to clients`
    }
    return before === null ? 'has been queried only once' : null
  }

  /** Records that it has another history than the primary, until another comparison shows that it has the same one. */
  #refuse(contradiction: string): string {
    this.#contradiction = contradiction
    this.proof.reset()
    return contradiction
  }

  #lose(reason: string): void {
    const probe = this.#probe
    this.#forget()
    this.problem = reason
    this.isLost = true
    probe?.close()
  }

  #forget(): void {
    this.#probe = null
    this.#head = null
    this.#aheadSince = null
    this.#contradiction = null
    this.proof.reset()
  }
}

/**
 * SQLSTATE of refusals that the address may cause: class 28 (role, password), no such database, no such table, no privilege. A
 * lagging replica may lack each of these, so that none of them ends a start.
 */
const causedByAddress = /^(28...|3D000|42P01|42501)$/

/** Returns the reason of an error, as words to follow the name of the server. */
function problemOf(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) return (error as Error).message || 'does not answer'
  const advice = causedByAddress.test(error.code ?? '')
    ? ' (check its address, unless this has yet to be replicated)'
    : ''
  return `answers: ${error.message}${advice}`
}

function isBeyond(commit: LoggedHead, head: LoggedHead): boolean {
  return commit.seq > head.seq || (commit.seq === head.seq && commit.version !== head.version)
}
