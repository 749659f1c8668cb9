/** Time in which a repeated signal is ignored: npm forwards a signal that the whole process group received already. */
const sameSignalMilliseconds = 500

/** Signal number that npm-shell.mjs passes when npm's shell has ended, which never counts as the second signal. */
const ofShell = 0

/** Calls back at the first stop signal; a second signal exits immediately, with status 1. */
export function onStopSignal(stop: () => void): void {
  let stoppedAt = Infinity
  const onSignal = (_: NodeJS.Signals, number: number): void => {
    if (number !== ofShell && performance.now() - stoppedAt > sameSignalMilliseconds) process.exit(1)
    stoppedAt = Math.min(stoppedAt, performance.now())
    stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
}
