import { setTimeout as wait } from 'node:timers/promises'
import { readAddress } from '../server-address.ts'
import { endOfRecord, LogProbe, type LoggedHead } from './log-probe.ts'
import { type LogTarget, ReplayProof } from './replay-proof.ts'

/** A position that was written just now is replayed within a few milliseconds, and asked for once more after these. */
const replayMilliseconds = 30

/** How long a commit that the primary does not show may be pending: until a cluster has named another synchronous standby. */
const pendingMilliseconds = 60_000

/** A server of READ_URLS, as far as it is known now. */
export class Replica {
  readonly url: string
  /** Host and port. */
  readonly name: string
  readonly proof = new ReplayProof()
  /** Why it cannot be read from, in words after its name; null where it can. */
  problem: string | null = 'has not been asked yet'
  /** Whether it is of another cluster than the primary. */
  isForeign = false
  /** Whether it took writes when it was asked last. */
  isPrimary = false
  /** Whether its connection has ended since it was asked last. */
  isLost = false
  /** The commit that it had to have when it was asked last. */
  askedFor: LoggedHead | null = null
  readonly #onLost: () => void
  #probe: LogProbe | null = null
  #isBusy = false
  #followed: string | null = null
  /** Its own run when it was last connected to: another one may be of another history. */
  #run: string | null = null
  /** Its newest commit, with its position before, and when they were known. */
  #head: { readonly commit: LoggedHead; readonly lsn: bigint; readonly at: number } | null = null
  /** Since when it has had commits that the primary does not show; null where it has none. */
  #aheadSince: number | null = null

  /** @param onLost called when its connection ends by itself */
  constructor(url: string, onLost: () => void) {
    this.url = url
    this.name = readAddress(url).name
    this.#onLost = onLost
  }

  /**
   * Run of the primary whose history it was last seen to be of; null while it takes writes itself. A commit that it shows and
   * this run does not is pending: with synchronous replication, a primary sends a commit before it shows it.
   */
  get followed(): string | null {
    return this.isPrimary ? null : this.#followed
  }

  /**
   * Asks the server how far it is, unless it is being asked; {@link problem} and {@link proof} tell the result.
   * @param system identifier of the primary's cluster
   * @param target position of the primary now; null where the primary does not tell it
   * @param told the newest commit that clients know of, which it has to have; null for none
   */
  async check(system: string | null, target: LogTarget | null, told: LoggedHead | null): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    this.askedFor = told
    try {
      const probe = (this.#probe ??= await this.#connect(system))
      this.problem = await this.#flawOf(probe, target, told)
    } catch (error) {
      this.#lose((error as Error).message || 'does not answer')
    } finally {
      this.#isBusy = false
    }
  }

  /** Ends its connection: it is not of interest now. */
  release(): void {
    const probe = this.#probe
    this.#forget()
    this.problem = 'has not been asked yet'
    probe?.close()
  }

  async #connect(system: string | null): Promise<LogProbe> {
    const probe = await LogProbe.connect(this.url)
    probe.onEnd(() => {
      if (this.#probe !== probe) return
      this.#lose('has ended the connection')
      this.#onLost()
    })
    const own = probe.system
    this.isForeign = system !== null && own !== system
    this.isLost = false
    if (probe.run !== this.#run) this.#followed = null
    this.#run = probe.run
    if (!this.isForeign) return probe
    probe.close()
    throw new Error(`is of another cluster: its system identifier is ${own}, and the primary's is ${system ?? ''}`)
  }

  async #flawOf(probe: LogProbe, target: LogTarget | null, told: LoggedHead | null): Promise<string | null> {
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
    // A primary that was asked after this server is behind no server that follows it.
    const isOfOther = isComparable && isStandby && before.lsn > target.insertLsn
    if (isOfOther) this.#followed = null
    const isAhead = isComparable && isBeyond(before.commit, target.head)
    this.#aheadSince = isAhead ? (this.#aheadSince ?? seenAt) : null
    const isPending = this.followed === target?.run && seenAt - (this.#aheadSince ?? seenAt) < pendingMilliseconds
    // It knows all that this server had, unless it is pending or a failover has lost it.
    if (isAhead && !isPending) return `has commit ${before.commit.version}, which the primary lacks`
    if (isOfOther) return 'has replayed more of the log than the primary has'
    const reached = this.proof.reachedBy(lsn)
    const isProved = reached !== null && (await probe.contains(reached.head, commit))
    if (isProved) this.proof.prove(reached, seenAt)
    else if (reached !== null && lsn >= endOfRecord(reached.insertLsn)) {
      return `lacks commit ${reached.head.version} of the primary at the same position of the log`
    }
    if (isComparable && !isAhead && isProved && reached === target) this.#followed = target.run
    if (told !== null && !(await probe.contains(told, commit))) {
      return `has not reached commit ${told.version}, which was told already`
    }
    return before === null ? 'has been asked only once' : null
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
    this.proof.reset()
  }
}

function isBeyond(commit: LoggedHead, head: LoggedHead): boolean {
  return commit.seq > head.seq || (commit.seq === head.seq && commit.version !== head.version)
}
