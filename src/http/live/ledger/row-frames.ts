import { type Cancellation, Canceller, throwIfCancelled, untilCancelled } from '../../../database/cancellation.ts'
import { FairCache } from '../../../fairness/fair-cache.ts'
import type { StreamedRow } from '../../../graphql/ledger-log.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import { otherOrOwn } from '../../async/within.ts'

/** How rows are written to a stream, in its protocol. */
export interface RowFormat {
  /** Equal for formats with equal frames. */
  readonly name: string
  /** Sender whose share of admission control its frames have; streams of others wait for one in production a short time only. */
  readonly sender: string
  /** Makes the frame of a row, unless it is cancelled; rejects with `RowNotReady` if the database is away. */
  readonly frame: (row: StreamedRow, signal: Cancellation) => Promise<Buffer>
  /** Tells that the position is lost, and where the stream goes on; whether it ends instead. */
  readonly reset: (position: string) => { readonly frame: Buffer; readonly isEnd: boolean }
  readonly staleFrame: Buffer
  /** Tells that the data is up to date again. */
  readonly freshFrame: Buffer
}

/** Memory of a frame besides its bytes: its key, and the cache's own records. */
const overheadBytes = 500

/** A frame in production, for one or more streams. */
interface FrameProduction {
  readonly sender: string
  readonly frame: Promise<Buffer>
  /** Cancels it. */
  readonly signal: Canceller
  /** Number of streams that wait for it. */
  waiting: number
}

/**
 * The frames of rows, each made once for all streams of one format. Clients choose the formats, of which each may have a frame of
 * its own for every row in memory. Past the limit, the client with the most bytes loses its least recently used frames, which are
 * made again for a stream that needs them.
 */
export class RowFrames {
  readonly #kept: FairCache<Buffer>
  readonly #productions = new Map<string, FrameProduction>()
  readonly #milliseconds: number
  /** Numbers of rows: the same row that was read again is another one, because its vault may have changed. */
  readonly #numbers = new WeakMap<StreamedRow, number>()
  #count = 0

  constructor({ frameBytes, rowMilliseconds }: Pick<LiveLimits, 'frameBytes' | 'rowMilliseconds'>) {
    this.#milliseconds = rowMilliseconds
    this.#kept = new FairCache(frameBytes)
  }

  /**
   * Returns the frame of a row; rejects if it cannot be made now.
   * @param closing of the stream, which does not wait for it then: it is cancelled when none does
   */
  of(row: StreamedRow, format: RowFormat, closing: Cancellation): Buffer | Promise<Buffer> {
    const key = `${this.#numberOf(row)} ${format.name}`
    const kept = this.#kept.get(key, format.sender)
    if (kept !== undefined) return kept
    const newest = this.#inProduction(key)
    const isOwn = newest?.sender === format.sender
    if (newest === undefined || isOwn) return awaitFrame(newest ?? this.#start(key, row, format), closing)
    return otherOrOwn(awaitFrame(newest, closing), () => {
      throwIfCancelled(closing)
      const later = this.#inProduction(key)
      return awaitFrame(later?.sender === format.sender ? later : this.#start(key, row, format), closing)
    })
  }

  /** Returns the production of a frame that streams may join: one that all its streams have left is cancelled, and about to end. */
  #inProduction(key: string): FrameProduction | undefined {
    const production = this.#productions.get(key)
    return production?.signal.aborted === true ? undefined : production
  }

  #start(key: string, row: StreamedRow, { sender, frame }: RowFormat): FrameProduction {
    const signal = new Canceller()
    const timer = setTimeout(() => signal.abort(), this.#milliseconds)
    const production = { sender, signal, waiting: 0, frame: untilCancelled(frame(row, signal), signal) }
    const end = (): void => {
      clearTimeout(timer)
      if (this.#productions.get(key) === production) this.#productions.delete(key)
    }
    this.#productions.set(key, production)
    production.frame.then((made) => {
      if (this.#kept.get(key, sender) === undefined) this.#kept.set(key, made, made.length + overheadBytes, sender)
      end()
    }, end)
    return production
  }

  #numberOf(row: StreamedRow): number {
    const number = this.#numbers.get(row) ?? ++this.#count
    this.#numbers.set(row, number)
    return number
  }
}

/** Waits for a frame, unless the stream closes. */
async function awaitFrame(production: FrameProduction, closing: Cancellation): Promise<Buffer> {
  const leave = {
    handleEvent: (): void => {
      if (--production.waiting === 0) production.signal.abort()
    },
  }
  production.waiting++
  closing.addEventListener('abort', leave)
  if (closing.aborted) leave.handleEvent()
  try {
    return await production.frame
  } finally {
    closing.removeEventListener('abort', leave)
  }
}
