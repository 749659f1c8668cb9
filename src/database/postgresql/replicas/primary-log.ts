import { type DatabaseIdentity, LogProbe, type LoggedHead } from './log-probe.ts'
import type { LogTarget } from './replay-proof.ts'
import { replicaTiming } from './timing.ts'

/** The log position of the primary, polled on a connection that reads no data for responses. */
export class PrimaryLog {
  readonly #url: string
  readonly #onOtherRun: () => void
  #identity: DatabaseIdentity | null = null
  #probe: LogProbe | null = null
  #asking: Promise<void> | null = null
  #target: LogTarget | null = null
  #run: string | null = null
  #reconnectedAt = -Infinity
  /** Reason why it reports no position now, as words to follow its name; null where it does. */
  problem: string | null = 'has not been queried yet'

  /** @param onOtherRun called when another run of a server answers, whose log may have diverged, as by a failover */
  constructor(url: string, onOtherRun: () => void) {
    this.#url = url
    this.#onOtherRun = onOtherRun
  }

  /** The database at the last connection; null before the first answer. */
  get identity(): DatabaseIdentity | null {
    return this.#identity
  }

  /**
   * Reads a position that covers everything that is committed now.
   * @returns null where the primary does not report it
   */
  async ask(): Promise<LogTarget | null> {
    this.#target = null
    await (this.#asking ??= this.#ask().finally(() => (this.#asking = null)))
    return this.#target
  }

  /** Returns whether a commit is part of the primary's history; null where that is unknown now. */
  async contains(commit: LoggedHead, { head }: LogTarget): Promise<boolean | null> {
    if (commit.seq > head.seq) return false
    return (await this.#probe?.contains(commit, head).catch(() => null)) ?? null
  }

  /**
   * Closes the connection, so that the next {@link ask} connects to the server that its address leads to then: an open
   * connection may lead to a primary that another one has superseded. At most once a second.
   */
  reconnect(): void {
    const now = performance.now()
    if (now < this.#reconnectedAt + replicaTiming.reconnectMilliseconds) return
    this.#reconnectedAt = now
    this.close()
  }

  close(): void {
    this.#probe?.close()
    this.#probe = null
  }

  async #ask(): Promise<void> {
    try {
      const probe = (this.#probe ??= await this.#connect())
      const at = performance.now()
      // Reads the positions after the newest commit, so that the insert position covers that commit.
      const head = await probe.head()
      const { lsn, insertLsn, isStandby } = await probe.position()
      if (isStandby) throw new Error('is a standby: DATABASE_URL has to lead to the primary')
      this.#target = { at, lsn, insertLsn, head, run: probe.run }
      this.problem = null
    } catch (error) {
      this.close()
      this.problem = (error as Error).message || 'does not answer'
    }
  }

  async #connect(): Promise<LogProbe> {
    const probe = await LogProbe.connect(this.#url)
    probe.onEnd(() => {
      if (this.#probe === probe) this.#probe = null
    })
    const { identity, run } = probe
    const known = this.#identity?.system ?? identity.system
    if (identity.system !== known) {
      probe.close()
      throw new Error(
        `is of another cluster now: its system identifier is ${identity.system}, and was ${known}: restart this process to use it`,
      )
    }
    this.#identity = identity
    if (run !== this.#run) this.#onOtherRun()
    this.#run = run
    return probe
  }
}
