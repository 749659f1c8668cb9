import { performance } from 'node:perf_hooks'

/**
 * Starts to measure how much longer the event loop is busy than idle.
 * @returns a function that returns the difference since, in milliseconds; it is negative where the event loop is idle for longer
 */
export function measureBusyTime(): () => number {
  const before = performance.eventLoopUtilization()
  return () => {
    const { active, idle } = performance.eventLoopUtilization(before)
    return active - idle
  }
}
