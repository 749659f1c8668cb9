import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'

const steps = 10

/**
 * Waits in short steps, each with an iteration of the event loop: what this process has begun before goes on meanwhile, one
 * thing after the other, also where the process is held up for longer than that. After one long timer it may not have: all
 * timers that are due come first.
 * @param milliseconds that pass at least
 */
export async function timePasses(milliseconds: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await wait(milliseconds / steps)
    await nextIteration()
  }
}
