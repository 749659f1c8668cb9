/** Time within which a signal counts as the first one again: npm passes on what the whole process group was sent. */
const sameSignalMilliseconds = 500

/** Number of the signal that npm-shell.mjs gives when npm's shell has ended: it never counts as the second. */
const ofShell = 0

/** Calls back at the first signal to stop; a second one exits at once, with status 1. */
export function onStopSignal(stop: () => void): void {
  let stoppedAt = Infinity
  const onSignal = (_: NodeJS.Signals, number: number): void => {
    if (number !== ofShell && performance.now() - stoppedAt > sameSignalMilliseconds) process.exit(1)
    stoppedAt = Math.min(stoppedAt, performance.now())
    stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
}
