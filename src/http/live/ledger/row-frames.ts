import { LRUCache } from 'lru-cache'
import type { StreamedRow } from '../../../graphql/ledger-log.ts'

/** How rows are written to a stream, in its protocol. */
export interface RowFormat {
  /** Equal for formats with equal frames. */
  readonly name: string
  /** Makes the frame of a row; rejects if the database is away. */
  readonly frame: (row: StreamedRow) => Promise<Buffer>
  /** Tells that the position is lost, and where the stream goes on; whether it ends instead. */
  readonly reset: (position: string) => { readonly frame: Buffer; readonly isEnd: boolean }
  readonly staleFrame: Buffer
  /** Tells that the data is up to date again. */
  readonly freshFrame: Buffer
}

/** Memory of a frame besides its bytes. */
const overheadBytes = 300

/**
 * The frames of rows, each made once for all streams of one format. Clients choose the formats, of which each may have a frame of
 * its own for every row in memory: the least recently used frames are forgotten, and made again for a stream that needs them.
 */
export class RowFrames {
  readonly #kept: LRUCache<string, Buffer>
  readonly #making = new Map<string, Promise<Buffer>>()
  /** Numbers of rows: the same row that was read again is another one, because its vault may have changed. */
  readonly #numbers = new WeakMap<StreamedRow, number>()
  #count = 0

  /** @param bytes that the kept frames may take */
  constructor(bytes: number) {
    this.#kept = new LRUCache({ maxSize: bytes, sizeCalculation: ({ length }) => length + overheadBytes })
  }

  /** Returns the frame of a row; rejects if it cannot be made now. */
  of(row: StreamedRow, format: RowFormat): Buffer | Promise<Buffer> {
    const key = `${this.#numberOf(row)} ${format.name}`
    return this.#kept.get(key) ?? this.#making.get(key) ?? this.#make(key, format.frame(row))
  }

  #make(key: string, making: Promise<Buffer>): Promise<Buffer> {
    this.#making.set(key, making)
    const end = (): void => void this.#making.delete(key)
    making.then((frame) => {
      this.#kept.set(key, frame)
      end()
    }, end)
    return making
  }

  #numberOf(row: StreamedRow): number {
    const number = this.#numbers.get(row) ?? ++this.#count
    this.#numbers.set(row, number)
    return number
  }
}
