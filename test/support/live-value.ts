import { setTimeout as wait } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { EncodedResponse } from '../../src/http/cache/encoded-response.ts'
import { createFanOut } from '../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../src/http/live/delivery/unsent-frames.ts'
import { SharedResponses } from '../../src/http/live/responses/shared-responses.ts'
import type { Evaluation, SharedQuery } from '../../src/http/live/responses/shared-query.ts'
import { type LiveLimits, liveLimits } from '../../src/limits/live.ts'

const nothing = (): void => undefined

/* Values that are also the status of the response. */

/** Response of a vault that does not exist. */
export const notFoundValue = 404
/** Response of a failed evaluation. */
export const unavailableValue = 503
/** Response of an evaluation with an unexpected error. */
export const internalErrorValue = 500
const failures: readonly number[] = [notFoundValue, unavailableValue, internalErrorValue]

/** A stream that follows the value. */
export interface ValueStream {
  /** Frames that were written to the connection. */
  readonly frames: string[]
  /** Makes the connection full: nothing is written until `read`. */
  pause(): void
  /** Drains the connection. */
  read(): void
  close(): void
}

/** A shared response whose body is one value, and whose evaluations finish when a test wants. */
export class LiveValue {
  readonly versions = new DataVersions()
  readonly responses: SharedResponses
  readonly #limits: LiveLimits
  /** Current data of the simulated database. */
  #value = 200
  /** Sequence number of the newest commit, of which the gateway may not have been notified. */
  seq = 0
  /** Functions that finish evaluations which have read the data. */
  readonly pending: (() => void)[] = []

  constructor(limits: Partial<LiveLimits> = {}) {
    this.#limits = { ...liveLimits, pushMilliseconds: 0, pushFactor: 0, ...limits }
    const fanOut = createFanOut(this.#limits.slice, 10)
    const { versions } = this
    this.responses = new SharedResponses({
      limits: this.#limits,
      fanOut,
      versions,
      onEvaluation: nothing,
      onDelivery: nothing,
    })
    versions.listening(true)
    this.commit(200)
  }

  /** Commits a value, and notifies the gateway. */
  commit(value: number): void {
    this.write(value)
    this.notify()
  }

  /** Commits a value without notifying the gateway. */
  write(value: number): void {
    this.#value = value
    this.seq++
  }

  /** Notifies the gateway of the newest commit. */
  notify(): void {
    this.versions.committed({ version: `${this.seq}.1`, newestTs: null })
    this.responses.committed(['value'])
  }

  /** Reports whether the gateway receives notifications. */
  listening(isListening: boolean): void {
    this.versions.listening(isListening)
    this.responses.listening(isListening)
  }

  /** Waits for an evaluation to start, and finishes it after some milliseconds. */
  async finishEvaluation(milliseconds = 0): Promise<void> {
    await this.evaluationStarted()
    await wait(milliseconds)
    this.pending.pop()?.()
  }

  /** Resolves when an evaluation has started. */
  async evaluationStarted(): Promise<void> {
    await vi.waitFor(() => expect(this.pending).toHaveLength(1), { timeout: 30_000, interval: 2 })
  }

  /** Opens a stream that follows the value. */
  join(onFrame: (frame: string) => void = nothing): ValueStream {
    const frames: string[] = []
    let drained: (() => void)[] = []
    let closed = nothing
    const sink = {
      unsentBytes: 0,
      end: nothing,
      destroy: nothing,
      write: (bytes: Buffer) => {
        frames.push(bytes.toString())
        onFrame(bytes.toString())
      },
      onDrain: (callback: () => void) => void drained.push(callback),
      onClose: (callback: () => void) => void (closed = callback),
    }
    this.responses.follow(this.#sharedQuery(), new LiveConnection(sink, this.#limits, 'someone', new UnsentFrames(1)))
    return {
      frames,
      pause: () => void (sink.unsentBytes = Infinity),
      read() {
        sink.unsentBytes = 0
        const callbacks = drained
        drained = []
        for (const callback of callbacks) callback()
      },
      close: () => closed(),
    }
  }

  #sharedQuery(): SharedQuery {
    return {
      name: 'value',
      evaluate: () => {
        const [status, body, version] = [this.#value, String(this.#value), `${this.seq}.1`]
        const response = new EncodedResponse(
          { status: failures.includes(status) ? status : 200, headers: {}, body },
          { tags: new Set(['value']), version, isCacheable: true, notified: null },
        )
        return new Promise<Evaluation>((resolve) => this.pending.push(() => resolve({ response, version })))
      },
      frame: (body, version) => Buffer.from(`${body.toString()} at ${version ?? '?'}`),
      refusal: ({ bytes }) => ({ frame: Buffer.from(`refused ${bytes.toString()}`), isEnd: false }),
      staleFrame: Buffer.from('stale'),
      ownStaleFrame: Buffer.from('stale'),
    }
  }
}

/** Waits until a stream has received exactly these frames. */
export async function expectFrames({ frames }: ValueStream, expected: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(frames).toEqual(expected), { timeout: 30_000, interval: 2 })
}
