/* Loaded into a gateway before its own code: on SIGUSR2 it tells, on stderr, what it holds once its garbage is gone. */
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

process.on('SIGUSR2', () => {
  const begun = cpuSeconds()
  const blockedSeconds = delay.max / 1e9
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const reading = { cpuSeconds: begun - ownSeconds, blockedSeconds, heapBytes: heapUsed, rssBytes: rss }
  process.stderr.write(`probe ${++readings} ${JSON.stringify(reading)}\n`)
  delay.reset()
  ownSeconds += cpuSeconds() - begun
})

function cpuSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
