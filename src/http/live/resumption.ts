import { parseDataVersion } from '../../domain/identity/data-version.ts'
import { versionLimits } from '../../limits.ts'
import type { DataVersions } from '../cache/data-versions.ts'
import type { Exchange } from '../middleware.ts'
import type { AwaitVersion } from '../middleware/min-data-version.ts'
import type { FanOut } from './delivery/fan-out.ts'
import type { LiveConnection } from './delivery/live-connection.ts'

/**
 * Whether the data has the version that a client received before: `reached`; `lost` if the history does not contain it;
 * or `late` while neither is known.
 */
export type Resumption = 'reached' | 'lost' | 'late'

type Settled = Exclude<Resumption, 'late'>

/** A stream of state that is about to be written. */
export interface ResumedStream {
  readonly connection: LiveConnection
  /** Frame that marks the client's data as possibly out of date. */
  readonly staleFrame: Buffer
  readonly follow: (resumption: Settled) => void
}

export interface ResumptionsOptions {
  readonly versions: DataVersions
  readonly awaitVersion: AwaitVersion
  readonly fanOut: FanOut
}

/** A stream that waits for its version. */
interface Wait {
  readonly version: string
  readonly seq: number
  readonly sender: string
  readonly settle: (resumption: Settled) => void
  readonly isOpen: () => boolean
  /** Start of the wait: once all commits before it are received, a version that is still missing is lost. */
  since: number
}

/** Delay before the history is looked up again, in milliseconds. */
const retryMilliseconds = 1_000

/**
 * Resumes streams of state. A stream whose client has received a later version than this process has is held back: its
 * client never gets older data. A lagging standby will reach the version; a failover may have lost it.
 */
export class Resumptions {
  readonly #options: ResumptionsOptions
  readonly #waits = new Set<Wait>()
  #stop: (() => void) | null = null

  constructor(options: ResumptionsOptions) {
    this.#options = options
  }

  /**
   * Waits for the version in Last-Event-ID as long as a request does, and as long again for proof that it is lost: that all
   * commits up to now are known, and it is none of them. Unlike the version of a Min-Data-Version header, it cannot be still to
   * come.
   * @returns `reached` also where there is no such header
   */
  async awaitResumption({ request, sender, onDisconnect }: Exchange): Promise<Resumption> {
    const { versions, awaitVersion } = this.#options
    const version = request.header('last-event-id')
    if (version === null || version === '') return 'reached'
    const requestedAt = performance.now()
    const refusal = await awaitVersion(version, sender, onDisconnect)
    if (refusal === null) return 'reached'
    const wanted = parseDataVersion(version)
    if (refusal.status !== 503 || wanted === null) return 'lost'
    const isLost = (): boolean => versions.isProvenMissing(wanted, requestedAt)
    const isOver = (): boolean => !versions.isListening || versions.hasReached(wanted) || isLost()
    await versions.waitUntil(isOver, versionLimits.waitMilliseconds, onDisconnect)
    return isLost() ? 'lost' : 'late'
  }

  /**
   * Lets a stream follow its responses: immediately, or once its version is reached or lost, unless it has closed. Its first
   * responses were produced after the version was reached: meanwhile reads may have moved to a server that lags behind it.
   */
  resume(exchange: Exchange, resumption: Resumption, { connection, staleFrame, follow }: ResumedStream): void {
    if (resumption === 'lost' || (resumption === 'reached' && this.#isReached(exchange))) return follow(resumption)
    connection.sendStale(staleFrame)
    this.#hold(exchange, connection, follow)
  }

  /** Returns whether the version in Last-Event-ID, if there is one, is not later than the newest commit notified. */
  #isReached({ request }: Exchange): boolean {
    const wanted = parseDataVersion(request.header('last-event-id') ?? '')
    return wanted === null || this.#options.versions.hasReached(wanted)
  }

  #hold({ request, sender }: Exchange, connection: LiveConnection, settle: Wait['settle']): void {
    const version = request.header('last-event-id') ?? ''
    const seq = parseDataVersion(version)?.seq ?? 0
    let isOpen = true
    const wait: Wait = { version, seq, sender, settle, since: performance.now(), isOpen: () => isOpen }
    connection.onClose(() => {
      isOpen = false
      this.#remove(wait)
    })
    this.#add(wait)
  }

  #add(wait: Wait): void {
    if (!wait.isOpen()) return
    this.#waits.add(wait)
    this.#stop ??= this.#options.versions.onChange(() => this.#look(this.#waits))
    this.#look([wait])
  }

  #remove(wait: Wait): void {
    this.#waits.delete(wait)
    if (this.#waits.size > 0) return
    this.#stop?.()
    this.#stop = null
  }

  /** Decides, in slices, on the waits that may have ended: all streams may wait after a failover. */
  #look(waits: Iterable<Wait>): void {
    const { versions, fanOut } = this.#options
    const due: Wait[] = []
    for (const wait of waits) {
      // Restarts the wait: notifications may resume from another server.
      if (!versions.isListening) wait.since = performance.now()
      else if (versions.hasReached(wait) || versions.isProvenMissing(wait, wait.since)) due.push(wait)
    }
    for (const wait of due) this.#remove(wait)
    fanOut(due, (wait) => void this.#decide(wait))
  }

  async #decide(wait: Wait): Promise<void> {
    const { versions, awaitVersion } = this.#options
    if (!wait.isOpen()) return
    if (versions.isProvenMissing(wait, wait.since)) return wait.settle('lost')
    if (!versions.hasReached(wait)) return this.#add(wait)
    const refusal = await awaitVersion(wait.version, wait.sender, () => undefined)
    if (!wait.isOpen()) return
    if (refusal === null) wait.settle('reached')
    else if (refusal.status !== 503) wait.settle('lost')
    else setTimeout(() => this.#add(wait), retryMilliseconds)
  }
}
