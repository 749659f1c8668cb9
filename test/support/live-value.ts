import { setTimeout as wait } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { EncodedResponse } from '../../src/http/cache/encoded-response.ts'
import { createFanOut } from '../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../src/http/live/delivery/unsent-frames.ts'
import { FollowedResponses } from '../../src/http/live/responses/followed-responses.ts'
import type { Evaluation, FollowedQuery } from '../../src/http/live/responses/followed-query.ts'
import { type LiveLimits, liveLimits } from '../../src/limits/live.ts'

const nothing = (): void => undefined

/** Status of the response while the value is this one. */
export const gone = 404
/** While the value is this one, evaluations fail. */
export const away = 503
/** While the value is this one, evaluations fail by an unexpected error. */
export const broken = 500
const failures: readonly number[] = [gone, away, broken]

/** A stream on the value. */
export interface ValueStream {
  /** Frames that were written. */
  readonly frames: string[]
  /** Stops reading: nothing is written until `read`. */
  pause(): void
  read(): void
  close(): void
}

/** Keys that streams follow, on one value whose evaluations end when the test wants. */
export class LiveValue {
  readonly versions = new DataVersions()
  readonly responses: FollowedResponses
  readonly #limits: LiveLimits
  /** The data as it is now. */
  #value = 200
  /** Newest commit of the server that is read from, which may not have been heard of. */
  seq = 0
  /** Evaluations that have read the data, and whose result has not come yet. */
  readonly pending: (() => void)[] = []

  constructor(limits: Partial<LiveLimits> = {}) {
    this.#limits = { ...liveLimits, pushMilliseconds: 0, pushFactor: 0, ...limits }
    const fanOut = createFanOut(this.#limits.slice, 10)
    const { versions } = this
    this.responses = new FollowedResponses({
      limits: this.#limits,
      fanOut,
      versions,
      onEvaluation: nothing,
      onDelivery: nothing,
    })
    versions.listening(true)
    this.commit(200)
  }

  /** Commits a value, of which the gateway hears at once. */
  commit(value: number): void {
    this.write(value)
    this.hear()
  }

  /** Commits a value, of which the gateway hears later. */
  write(value: number): void {
    this.#value = value
    this.seq++
  }

  hear(): void {
    this.versions.committed({ version: `${this.seq}.1`, newestTs: null })
    this.responses.committed(['value'])
  }

  listening(isListening: boolean): void {
    this.versions.listening(isListening)
    this.responses.listening(isListening)
  }

  /** Lets the evaluation under way end, when it has taken so long. */
  async evaluated(milliseconds = 0): Promise<void> {
    await this.evaluating()
    await wait(milliseconds)
    this.pending.pop()?.()
  }

  /** Resolves when an evaluation has begun. */
  async evaluating(): Promise<void> {
    await vi.waitFor(() => expect(this.pending).toHaveLength(1), { timeout: 30_000, interval: 2 })
  }

  /** Opens a stream. */
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
    this.responses.follow(this.#followedQuery(), new LiveConnection(sink, this.#limits, 'someone', new UnsentFrames(1)))
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

  #followedQuery(): FollowedQuery {
    return {
      name: 'value',
      evaluate: () => {
        const [status, body, version] = [this.#value, String(this.#value), `${this.seq}.1`]
        const response = new EncodedResponse(
          { status: failures.includes(status) ? status : 200, headers: {}, body },
          { tags: new Set(['value']), version, isCacheable: true },
        )
        return new Promise<Evaluation>((resolve) => this.pending.push(() => resolve({ response, version })))
      },
      frame: (body, version) => Buffer.from(`${body.toString()} at ${version ?? '?'}`),
      refusal: ({ bytes }) => ({ frame: Buffer.from(`refused ${bytes.toString()}`), isEnd: false }),
      staleFrame: Buffer.from('stale'),
    }
  }
}

/** Resolves when a stream has received these frames. */
export async function comes({ frames }: ValueStream, expected: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(frames).toEqual(expected), { timeout: 30_000, interval: 2 })
}
