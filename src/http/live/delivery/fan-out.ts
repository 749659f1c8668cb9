/** A delivery to many targets, and the next of them. */
interface Job {
  readonly targets: readonly unknown[]
  readonly deliver: (target: unknown) => void
  readonly onEnd: () => void
  next: number
}

/** Calls `deliver` for each target, in slices with other work in between; then `onEnd`. */
export type FanOut = <Target>(targets: readonly Target[], deliver: (target: Target) => void, onEnd?: () => void) => void

/** Number of deliveries between two reads of the clock. */
const perLook = 16

/**
 * Creates a fan-out. Writing to 10,000 sockets in one go would block the event loop for a tenth of a second, so each of
 * its iterations runs one slice of deliveries. Several calls are processed one after the other.
 * @param perSlice maximum number of deliveries in one iteration
 * @param milliseconds time after which an iteration starts no more of them
 */
export function createFanOut(perSlice: number, milliseconds: number): FanOut {
  const jobs: Job[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || jobs.length === 0) return
    isScheduled = true
    setImmediate(runSlice)
  }

  function runSlice(): void {
    isScheduled = false
    const until = performance.now() + milliseconds
    let left = perSlice
    for (let job = jobs[0]; job !== undefined && left > 0 && performance.now() < until; job = jobs[0]) {
      const end = Math.min(job.targets.length, job.next + left, job.next + perLook)
      left -= end - job.next
      while (job.next < end) job.deliver(job.targets[job.next++])
      if (job.next < job.targets.length) continue
      jobs.shift()
      job.onEnd()
    }
    schedule()
  }

  return (targets, deliver, onEnd = () => undefined) => {
    if (targets.length === 0) return onEnd()
    jobs.push({ targets, deliver: deliver as (target: unknown) => void, onEnd, next: 0 })
    schedule()
  }
}
