import { parseLedgerPosition } from '../../graphql/ledger-log.ts'
import { versionLimits } from '../../limits.ts'
import type { DataVersions } from '../cache/data-versions.ts'
import type { Exchange } from '../middleware.ts'
import type { AwaitVersion } from '../middleware/min-data-version.ts'
import type { FanOut } from './delivery/fan-out.ts'
import type { LiveConnection } from './delivery/live-connection.ts'

/**
 * Whether the data has the version that a client had before: it is `reached`, `lost` if it is none of the history, or
 * `late` while neither is known.
 */
export type Resumption = 'reached' | 'lost' | 'late'

type Settled = Exclude<Resumption, 'late'>

/** A stream of state that begins to be written. */
export interface ResumedStream {
  readonly connection: LiveConnection
  /** Tells the client that what it has may be out of date. */
  readonly staleFrame: Buffer
  /**
   * Keeps room for the responses that it will follow.
   * @returns gives it back
   */
  readonly reserve: () => () => void
  readonly follow: (resumption: Settled) => void
}

export interface ResumptionsOptions {
  readonly data: DataVersions
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
  /** When every commit until then has been heard of, a version that has not come is lost. */
  since: number
}

/** Delay before the history is looked up again, in milliseconds. */
const retryMilliseconds = 1_000

/**
 * The streams of state that are resumed. One whose client has had a later version than there is here is held back, so that
 * its client never goes back: a standby that lags behind will have the version, and a failover may have lost it.
 */
export class Resumptions {
  readonly #options: ResumptionsOptions
  readonly #waits = new Set<Wait>()
  #stop: (() => void) | null = null

  constructor(options: ResumptionsOptions) {
    this.#options = options
  }

  /** Waits for the version in Last-Event-ID as long as a request would, and as long again for the proof that it is lost. */
  async begin({ request, sender, onLeave }: Exchange): Promise<Resumption> {
    const { data, awaitVersion } = this.#options
    const version = request.header('last-event-id')
    if (version === null || version === '') return 'reached'
    const askedAt = performance.now()
    const refusal = await awaitVersion(version, sender, onLeave)
    if (refusal === null) return 'reached'
    const position = parseLedgerPosition(version)
    if (refusal.status !== 503 || position === null) return 'lost'
    const isLost = (): boolean => data.isProvenSince(askedAt) && !data.hasReached(position)
    const isOver = (): boolean => !data.isListening || data.hasReached(position) || isLost()
    await data.waitUntil(isOver, versionLimits.waitMilliseconds, onLeave)
    return isLost() ? 'lost' : 'late'
  }

  /** Has a stream follow what it asks for: at once, or when its version is reached or lost, unless it closes before. */
  resume(exchange: Exchange, resumption: Resumption, { connection, staleFrame, reserve, follow }: ResumedStream): void {
    if (resumption !== 'late') return follow(resumption)
    connection.tellStale(staleFrame)
    const giveBack = reserve()
    this.#hold(exchange, connection, (settled) => {
      giveBack()
      follow(settled)
    })
  }

  #hold({ request, sender }: Exchange, connection: LiveConnection, settle: Wait['settle']): void {
    const version = request.header('last-event-id') ?? ''
    const seq = parseLedgerPosition(version)?.seq ?? 0
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
    this.#stop ??= this.#options.data.onChange(() => this.#look(this.#waits))
    this.#look([wait])
  }

  #remove(wait: Wait): void {
    this.#waits.delete(wait)
    if (this.#waits.size > 0) return
    this.#stop?.()
    this.#stop = null
  }

  /** Decides on those whose wait may have ended, in slices: all streams may wait after a failover. */
  #look(waits: Iterable<Wait>): void {
    const { data, fanOut } = this.#options
    const due: Wait[] = []
    for (const wait of waits) {
      // Another server may be read from when commits are heard of again.
      if (!data.isListening) wait.since = performance.now()
      else if (data.hasReached(wait) || data.isProvenSince(wait.since)) due.push(wait)
    }
    for (const wait of due) this.#remove(wait)
    fanOut(due, (wait) => void this.#decide(wait))
  }

  async #decide(wait: Wait): Promise<void> {
    const { data, awaitVersion } = this.#options
    if (!wait.isOpen()) return
    if (!data.hasReached(wait)) {
      if (!data.isProvenSince(wait.since)) return this.#add(wait)
      return wait.settle('lost')
    }
    const refusal = await awaitVersion(wait.version, wait.sender, () => undefined)
    if (!wait.isOpen()) return
    if (refusal === null) wait.settle('reached')
    else if (refusal.status !== 503) wait.settle('lost')
    else setTimeout(() => this.#add(wait), retryMilliseconds)
  }
}
