import { countedSenders } from '../../../limits.ts'

/** Moving average of the time that the reads of one connection take, starting with an assumed read. */
export class ConnectionReadTime {
  #reads = 1
  #milliseconds = assumedMilliseconds

  add(milliseconds: number): void {
    if (this.#reads === countedReads) this.#milliseconds -= this.#milliseconds / this.#reads
    else this.#reads++
    this.#milliseconds += milliseconds
  }

  get isLow(): boolean {
    return this.#milliseconds / this.#reads < lowMilliseconds
  }
}

/** Time of the assumed read: that of two expensive ones. */
const assumedMilliseconds = 20
/** Average below which the reads of a connection are cheap, reached after about seven fast reads. */
const lowMilliseconds = 3
/** Number of reads that the average spans. */
const countedReads = 64

/** Milliseconds that reads took, by address, since the queues of connections were last empty. */
export class SenderReadTimes {
  readonly #spent = new Map<string, number>()
  readonly #fewMilliseconds: number
  readonly #maxSenders: number
  #greatest = 0

  /**
   * @param fewMilliseconds below which no address is heavy
   * @param maxSenders maximum number of addresses; one more resets all
   */
  constructor(fewMilliseconds: number, maxSenders = countedSenders) {
    this.#fewMilliseconds = fewMilliseconds
    this.#maxSenders = maxSenders
  }

  add(sender: string, milliseconds: number): void {
    const before = this.#spent.get(sender)
    if (before === undefined && this.#spent.size >= this.#maxSenders) this.clear()
    const spent = (before ?? 0) + milliseconds
    this.#spent.set(sender, spent)
    this.#greatest = Math.max(this.#greatest, spent)
  }

  /** Returns whether reads of an address took long, both in total and compared with other addresses. */
  isHeavy(sender: string): boolean {
    const spent = this.#spent.get(sender) ?? 0
    return spent >= this.#fewMilliseconds && spent >= this.#greatest / 4
  }

  clear(): void {
    this.#spent.clear()
    this.#greatest = 0
  }
}
