// Runs main.ts, after generating and compiling missing files.
import '../prisma/generate.mjs'
import { pathToFileURL } from 'node:url'
import { compiled, keepBuild } from './compile.mjs'

/** How often it is looked whether npm's shell has ended. */
const shellMilliseconds = 500

// Without it packages run development checks: graphql-js looks for a second copy of itself at each value.
process.env['NODE_ENV'] ??= 'production'

stopWithShell()
const program = await compiled()
keepBuild(program)
await import(pathToFileURL(program).href)

/**
 * Stops this process when the shell has ended that npm started it by: npm sends its signals to that shell, which does not
 * pass them on.
 */
function stopWithShell() {
  const { npm_package_name: name, npm_lifecycle_event: script } = process.env
  const isOfNpm = name === 'vault-gateway' && ['start', 'ingest', 'migrate', 'chain'].includes(script)
  if (!isOfNpm || process.platform === 'win32') return
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, shellMilliseconds).unref()
}
