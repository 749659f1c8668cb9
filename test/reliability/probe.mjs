/*
 * Loaded into a gateway by `--import`: on SIGUSR2 it collects garbage, and writes memory and CPU time to stderr. The
 * memory of workers, which is read from /proc on Linux, is included.
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
let measurements = 0
/** CPU time of the measurements themselves. */
let ownSeconds = 0

/** Time for the garbage collection of workers. */
const workerGcMilliseconds = 300

process.on('SIGUSR2', () => {
  if (cluster.isWorker) return void collectGarbage()
  const workers = Object.values(cluster.workers ?? {}).map(({ process: { pid } }) => pid)
  if (workers.length === 0) return void writeMeasurement(0)
  for (const pid of workers) process.kill(pid, 'SIGUSR2')
  setTimeout(() => writeMeasurement(workers.reduce((sum, pid) => sum + residentBytes(pid), 0)), workerGcMilliseconds)
})

function residentBytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/**
 * Writes a measurement to stderr.
 * @param workersBytes resident memory of the workers
 */
function writeMeasurement(workersBytes) {
  const startSeconds = cpuSeconds()
  const blockedSeconds = delay.max / 1e9
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const usage = {
    cpuSeconds: startSeconds - ownSeconds,
    blockedSeconds,
    heapBytes: heapUsed,
    rssBytes: rss + workersBytes,
  }
  process.stderr.write(`probe ${++measurements} ${JSON.stringify(usage)}\n`)
  delay.reset()
  ownSeconds += cpuSeconds() - startSeconds
}

function cpuSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
