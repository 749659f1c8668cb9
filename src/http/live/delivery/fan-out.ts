/** A delivery to many targets, and the next of them. */
interface Job {
  readonly targets: readonly unknown[]
  readonly deliver: (target: unknown) => void
  next: number
}

/** Calls `deliver` for each target, in slices that other work comes between. */
export type FanOut = <Target>(targets: readonly Target[], deliver: (target: Target) => void) => void

/**
 * Creates a fan-out. Writing to 10,000 sockets at once would block the event loop for a tenth of a second: each of its
 * iterations makes a slice of deliveries, those of several calls one after the other.
 * @param perSlice number of deliveries in one iteration
 */
export function createFanOut(perSlice: number): FanOut {
  const jobs: Job[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || jobs.length === 0) return
    isScheduled = true
    setImmediate(runSlice)
  }

  function runSlice(): void {
    isScheduled = false
    let left = perSlice
    for (let job = jobs[0]; job !== undefined && left > 0; job = jobs[0]) {
      const end = Math.min(job.targets.length, job.next + left)
      left -= end - job.next
      while (job.next < end) job.deliver(job.targets[job.next++])
      if (job.next >= job.targets.length) jobs.shift()
    }
    schedule()
  }

  return (targets, deliver) => {
    if (targets.length === 0) return
    jobs.push({ targets, deliver: deliver as (target: unknown) => void, next: 0 })
    schedule()
  }
}
