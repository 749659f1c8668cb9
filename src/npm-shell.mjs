// Stops the process that `npm start` has begun when the shell of that script has ended: npm sends its signals to the shell,
// which does not pass them on. To be imported first: while files are generated, the shell may end already.
const { npm_package_name: name, npm_lifecycle_event: script } = process.env
const isOfNpm = name === 'vault-gateway' && ['start', 'ingest', 'migrate', 'chain'].includes(script)
const watchMilliseconds = 200
/** In place of the number of a signal: the process group may have been sent the same one, so it never counts as the second. */
const ofShell = 0

if (isOfNpm && process.platform !== 'win32') {
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    if (!process.emit('SIGTERM', 'SIGTERM', ofShell)) process.exit(143)
  }, watchMilliseconds).unref()
}
