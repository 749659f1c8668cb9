import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'

const steps = 10

/**
 * Waits in short steps, each with an iteration of the event loop, so that asynchronous work of this process which takes several
 * steps can progress even if the process is suspended for longer than that. After one long timer it may not have progressed:
 * all timers that are due run first.
 * @param milliseconds minimum duration
 */
export async function timePasses(milliseconds: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await wait(milliseconds / steps)
    await nextIteration()
  }
}
