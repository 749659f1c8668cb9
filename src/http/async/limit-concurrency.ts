/** Runs work when fewer than the limit of other work runs; the rest waits in order. */
export type LimitConcurrency = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Creates a limit on concurrent work. */
export function limitConcurrency(most: number): LimitConcurrency {
  const waiting: (() => void)[] = []
  let running = 0

  function end(): void {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }

  return async (work) => {
    if (running < most) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      end()
    }
  }
}
