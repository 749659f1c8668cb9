/** Runs work of a sender when the limits permit it; the rest waits, and senders take turns. */
export type LimitConcurrency = <Result>(sender: string, work: () => Promise<Result>) => Promise<Result>

/**
 * Creates a limit on concurrent work. One sender has at most half of it, so that no sender waits for all work of another one.
 * @param most maximum number of pieces of work that run at once
 */
export function limitConcurrency(most: number): LimitConcurrency {
  const mostOfSender = Math.ceil(most / 2)
  /** Work that waits, by sender; the next one in turn comes first. */
  const waiting = new Map<string, (() => void)[]>()
  /** Number of running pieces of work, of each sender that has any. */
  const runningOf = new Map<string, number>()
  let running = 0

  function count(sender: string, change: 1 | -1): void {
    running += change
    const ofSender = (runningOf.get(sender) ?? 0) + change
    if (ofSender > 0) runningOf.set(sender, ofSender)
    else runningOf.delete(sender)
  }

  function admit(): void {
    for (const [sender, works] of waiting) {
      if (running === most) return
      if ((runningOf.get(sender) ?? 0) === mostOfSender) continue
      const begin = works.shift()
      waiting.delete(sender)
      // A map is iterated in the order of insertion: the sender is the last in turn now.
      if (works.length > 0) waiting.set(sender, works)
      count(sender, 1)
      begin?.()
    }
  }

  return async (sender, work) => {
    await new Promise<void>((resolve) => {
      const works = waiting.get(sender) ?? []
      works.push(resolve)
      waiting.set(sender, works)
      admit()
    })
    try {
      return await work()
    } finally {
      count(sender, -1)
      admit()
    }
  }
}
