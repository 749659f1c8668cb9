import { LRUCache } from 'lru-cache'
import type { ChainLog, Header } from '../block.ts'

/** Characters of a log beside its data: an address, four topics, two hashes. */
const charactersOfLog = 500
/** Memory of an entry beside its logs, in characters. */
const charactersOfEntry = 200
/** Headers that are kept: those of final blocks, whose logs are read one by one. */
const maxKept = 1_024

/** Characters of the logs of these blocks that are kept. */
const maxKeptCharacters = 16 * 2 ** 20

/** Logs of blocks that are known by their hashes. */
class KeptLogs {
  readonly #logs = new LRUCache<string, readonly ChainLog[]>({
    maxSize: maxKeptCharacters,
    sizeCalculation: (logs, key) => sizeOf(key, logs),
  })
  readonly #reading = new Map<string, Promise<readonly ChainLog[]>>()

  /** Returns the logs that were read with this key, or are being read. */
  async get(key: string, read: () => Promise<readonly ChainLog[]>): Promise<readonly ChainLog[]> {
    const kept = this.#logs.get(key)
    if (kept !== undefined) return kept
    const running = this.#reading.get(key)
    // The reader that has requested them may give up sooner than others do.
    if (running !== undefined) return running.catch(read)
    const reading = read()
    this.#reading.set(key, reading)
    try {
      const logs = await reading
      this.#logs.set(key, logs)
      return logs
    } finally {
      this.#reading.delete(key)
    }
  }
}

function sizeOf(key: string, logs: readonly ChainLog[]): number {
  return key.length + charactersOfEntry + logs.reduce((sum, { data }) => sum + data.length + charactersOfLog, 0)
}

/** The newest final blocks of a chain, as far as its nodes have told them. */
export class NewestBlocks {
  /** Greatest number of a final block that any node has told. */
  number = -1
  #headers = new Map<number, Promise<Header>>()
  #logs = new KeptLogs()

  /** Notes that a node has told a block as final. */
  note({ number }: Pick<Header, 'number'>): void {
    this.number = Math.max(this.number, number)
  }

  /** Returns the header of a final block, which is kept as soon as it is being read. */
  headerAt(number: number, read: (number: number) => Promise<Header>): Promise<Header> {
    const kept = this.#headers.get(number)
    // The reader that has requested it may give up sooner than others do.
    if (kept !== undefined) return kept.catch(() => read(number))
    const reading = read(number)
    this.#headers.set(number, reading)
    reading.catch(() => {
      if (this.#headers.get(number) === reading) this.#headers.delete(number)
    })
    const [oldest] = this.#headers.keys()
    if (oldest !== undefined && this.#headers.size > maxKept) this.#headers.delete(oldest)
    return reading
  }

  /**
   * Returns the logs of a block that match a filter, which are kept once they were read: whether tokens are gifts takes
   * those of the newest blocks at each mark.
   * @param filterKey unique to the filter
   */
  logsAt(
    { hash }: Pick<Header, 'hash'>,
    filterKey: string,
    read: () => Promise<readonly ChainLog[]>,
  ): Promise<readonly ChainLog[]> {
    return this.#logs.get(`${hash} ${filterKey}`, read)
  }

  /** Forgets all headers and logs, also those that are being read: one of them may be of a fork, or incomplete. */
  forgetAll(): void {
    this.#headers = new Map()
    this.#logs = new KeptLogs()
  }

  /** Forgets the number of the newest final block too, which a node has told wrongly: it is requested again. */
  reset(): void {
    this.number = -1
    this.forgetAll()
  }

  /** Keeps a header in place of another one of its number, which was of a fork. */
  replace(header: Header): void {
    this.#headers.set(header.number, Promise.resolve(header))
  }

  /** Forgets the header of a block that nodes do not have any more. */
  forget(number: number): void {
    this.#headers.delete(number)
  }
}
