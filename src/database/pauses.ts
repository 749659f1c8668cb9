/** The pauses between repetitions of some work, which {@link wake} and {@link stop} cut short. */
export class Pauses {
  isStopped = false
  #isWoken = false
  #end: () => void = () => undefined

  /** Ends the pause before the next repetition, as soon as its minimum is over. */
  wake(): void {
    this.#isWoken = true
    this.#end()
  }

  /** Ends this pause and all later ones immediately. */
  stop(): void {
    this.isStopped = true
    this.#end()
  }

  /**
   * Pauses until the next repetition.
   * @param minMilliseconds minimum pause, however often {@link wake} is called
   */
  async beforeNext(minMilliseconds: number, milliseconds: number): Promise<void> {
    await this.pause(minMilliseconds)
    await this.#pause(milliseconds - minMilliseconds, true)
    this.#isWoken = false
  }

  /** Pauses for a time that only {@link stop} cuts short. */
  pause(milliseconds: number): Promise<void> {
    return this.#pause(milliseconds, false)
  }

  #pause(milliseconds: number, canWake: boolean): Promise<void> {
    if (this.isStopped || (canWake && this.#isWoken)) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#end = () => {
        if (!canWake && !this.isStopped) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
