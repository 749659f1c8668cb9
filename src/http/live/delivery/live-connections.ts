import type { LiveLimits } from '../../../limits/live.ts'
import { Problem, retryLater } from '../../../rest/problem.ts'
import type { ByteSink } from '../../server/byte-sink.ts'
import { Budget, clientOf } from '../../../fairness/budget.ts'
import type { FanOut } from './fan-out.ts'
import { type CloseReason, LiveConnection } from './live-connection.ts'
import { commentFrame, eventFrame } from './server-sent-events.ts'
import { UnsentFrames } from './unsent-frames.ts'

/** Observes the streams of a process, for its metrics. */
export interface LiveObserver {
  /** Called with the number of open streams whenever it changes. */
  readonly onStreams: (open: number) => void
  readonly onStreamClosed: (reason: CloseReason) => void
  /** Called for each stream that a limit refuses. */
  readonly onStreamRefused: () => void
  /** Called for each evaluation. */
  readonly onEvaluation: () => void
  /** Called for each event that is written to a client. */
  readonly onDelivery: () => void
}

/** A slot for a stream of the process, reserved before the stream starts. */
export interface StreamSlot {
  readonly sender: string
  /** Registers a callback for the release of the slot, when the stream has closed, or was refused. */
  onRelease(released: () => void): void
  /** Releases the slot; further calls have no effect. */
  release(): void
}

export interface LiveConnectionsOptions {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly observer: LiveObserver
  /** Maximum number of streams, if file descriptors allow fewer than the limits. */
  readonly maxStreams: number
}

const heartbeat = commentFrame()

/**
 * The open streams of a process: counts them in total and by sender, sends heartbeats, closes stalled and expired
 * streams, and ends all streams when the process stops.
 */
export class LiveConnections {
  readonly #options: LiveConnectionsOptions
  readonly #open = new Set<LiveConnection>()
  readonly #slotsOf = new Map<string, number>()
  #slots = 0
  /** Slots by client, of which a network with many senders may take a fair share. */
  readonly #slotsOfClients: Budget
  #timer: NodeJS.Timeout | undefined
  #isEnded = false
  readonly #unsent: UnsentFrames

  constructor(options: LiveConnectionsOptions) {
    this.#options = options
    this.#unsent = new UnsentFrames(options.limits.unsentInAll)
    this.#slotsOfClients = new Budget(options.maxStreams)
  }

  /** Reserves a slot for a sender, or returns the problem of the limit that refuses it. */
  admit(sender: string): StreamSlot | Problem {
    const refusal = this.#refusal(sender)
    if (refusal !== null) {
      this.#options.observer.onStreamRefused()
      return refusal
    }
    this.#slots++
    this.#slotsOfClients.add(sender, 1)
    this.#slotsOf.set(sender, (this.#slotsOf.get(sender) ?? 0) + 1)
    let isTaken = true
    const callbacks = [(): void => this.#release(sender)]
    return {
      sender,
      onRelease: (released) => void callbacks.push(released),
      release: () => {
        if (!isTaken) return
        isTaken = false
        for (const released of callbacks) released()
      },
    }
  }

  /** Opens a stream in its slot, which is released when the stream has closed. */
  open(sink: ByteSink, slot: StreamSlot): LiveConnection {
    const { limits, observer } = this.#options
    const connection = new LiveConnection(sink, limits, slot.sender, this.#unsent)
    this.#open.add(connection)
    observer.onStreams(this.#open.size)
    connection.onClose((reason) => {
      this.#open.delete(connection)
      slot.release()
      observer.onStreams(this.#open.size)
      observer.onStreamClosed(reason)
      if (this.#open.size === 0) this.#stopTimer()
    })
    this.#timer ??= setInterval(() => this.#tick(), limits.heartbeatSeconds * 1000).unref()
    // Not refused: after a refusal an EventSource does not connect again.
    if (this.#isEnded) this.#end(connection, 'stop')
    return connection
  }

  /** Calls a function for each open stream, in slices. */
  each(deliver: (connection: LiveConnection) => void): void {
    this.#options.fanOut([...this.#open], deliver)
  }

  /** Ends all streams, and new ones as soon as they open. */
  endAll(): void {
    this.#isEnded = true
    for (const connection of this.#open) this.#end(connection, 'stop')
  }

  #refusal(sender: string): Problem | null {
    const { limits, maxStreams } = this.#options
    const isNetwork = clientOf(sender) !== sender
    const isFull = this.#slots >= maxStreams || (isNetwork && !this.#slotsOfClients.hasRoom(sender, 1))
    if (isFull) return retryLater('OVERLOADED', 'Too many streams are open. Try again later.')
    if ((this.#slotsOf.get(sender) ?? 0) < limits.connectionsOfSender) return null
    const detail = `More than ${limits.connectionsOfSender} streams are open of this key or address: close one of them.`
    return new Problem('TOO_MANY_STREAMS', detail, { headers: { 'retry-after': String(limits.retrySeconds) } })
  }

  #release(sender: string): void {
    this.#slots--
    this.#slotsOfClients.giveBack(sender, 1)
    const left = (this.#slotsOf.get(sender) ?? 1) - 1
    if (left === 0) this.#slotsOf.delete(sender)
    else this.#slotsOf.set(sender, left)
  }

  /** Sends heartbeats, by one timer for all streams. */
  #tick(): void {
    const now = performance.now()
    this.each((connection) => {
      if (connection.isStalled(now)) connection.destroy('slow')
      else if (connection.isExpired(now)) this.#end(connection, 'age')
      else connection.heartbeat(heartbeat)
    })
  }

  /** Ends a stream; its client reconnects after a random time, which spreads reconnections. */
  #end(connection: LiveConnection, reason: CloseReason): void {
    const { retrySeconds } = this.#options.limits
    connection.end(eventFrame({ retry: Math.round((0.5 + Math.random()) * retrySeconds * 1000) }), reason)
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
