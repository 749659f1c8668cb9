/** Average time that the reads of one connection take: the newest ones count, and at first an assumed one. */
export class ReadCost {
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

/** Time that a read of a connection is assumed to take of which nothing is known: two long ones. */
const assumedMilliseconds = 20
/** Average below which the reads of a connection are cheap: a connection has it after about seven of them. */
const lowMilliseconds = 3
/** Number of reads that an average is of. */
const countedReads = 64
