/*
 * Loaded into a gateway before its own code: on SIGUSR2 it tells, on stderr, what it holds once its garbage is gone. A
 * gateway with workers adds their memory, as Linux tells it.
 */
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
let readings = 0
/** CPU time that these readings themselves have taken. */
let ownSeconds = 0

/** How long workers have to collect their garbage. */
const workerMilliseconds = 300

process.on('SIGUSR2', () => {
  if (cluster.isWorker) return void collectGarbage()
  const workers = Object.values(cluster.workers ?? {}).map(({ process: { pid } }) => pid)
  if (workers.length === 0) return void tell(0)
  for (const pid of workers) process.kill(pid, 'SIGUSR2')
  setTimeout(() => tell(workers.reduce((sum, pid) => sum + residentBytes(pid), 0)), workerMilliseconds)
})

function residentBytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/** @param workersBytes memory of the workers */
function tell(workersBytes) {
  const begun = cpuSeconds()
  const blockedSeconds = delay.max / 1e9
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const reading = { cpuSeconds: begun - ownSeconds, blockedSeconds, heapBytes: heapUsed, rssBytes: rss + workersBytes }
  process.stderr.write(`probe ${++readings} ${JSON.stringify(reading)}\n`)
  delay.reset()
  ownSeconds += cpuSeconds() - begun
}

function cpuSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
