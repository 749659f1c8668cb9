/*
 * Measures the response times of honest clients of a gateway, in a separate process, so that the CPU time of attackers
 * does not distort them: /health on one connection, snapshots on two, and GraphQL queries with unique texts on one.
 * Arguments: port, then the addresses of the vaults. Samples between the messages `begin` and `end`.
 */
import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'

const healthMilliseconds = 50
const readers = 2
const readerPauseMilliseconds = 5
const queryPauseMilliseconds = 100
/** Longer than any observed block of the gateway's event loop, so that its duration is measured. */
const timeoutMilliseconds = 150_000

const [port, ...vaults] = process.argv.slice(2)
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

let sampling = null
process.on('message', (message) => {
  if (message === 'begin') sampling = sample()
  else void sampling.end().then((samples) => process.send(samples))
})
process.on('disconnect', () => process.exit())

function sample() {
  const samples = { health: [], snapshots: [], queries: [], failed: 0 }
  const state = { isOver: false }
  delay.reset()
  const running = [
    repeat(
      state,
      samples.health,
      healthMilliseconds,
      true,
      createClient(samples, () => ({ path: '/health' })),
    ),
    repeat(state, samples.queries, queryPauseMilliseconds, false, createClient(samples, newQuery)),
    ...Array.from({ length: readers }, () =>
      repeat(state, samples.snapshots, readerPauseMilliseconds, false, createClient(samples, snapshot)),
    ),
  ]
  return {
    async end() {
      state.isOver = true
      await Promise.all(running)
      return { ...samples, ownDelay: delay.max / 1e6 }
    },
  }
}

/**
 * Sends requests one after another, and records their response times, until the period ends.
 * @param interval milliseconds between the starts of two requests if `isFixedRate`, otherwise between end and start
 */
async function repeat(state, times, interval, isFixedRate, send) {
  for (;;) {
    const startedAt = performance.now()
    await send()
    const duration = performance.now() - startedAt
    times.push(duration)
    if (state.isOver) return
    await wait(isFixedRate ? Math.max(1, interval - duration) : interval)
  }
}

let count = 0

/** Returns the path of a snapshot, percent-encoded in a way not used before, so that the response cache misses. */
function snapshot() {
  const vault = vaults[count % vaults.length]
  const bits = ++count
  const encoded = [...vault].map((digit, at) => ((bits >> at) & 1 && at < 20 ? `%${hex(digit)}` : digit))
  return { path: `/vault/${encoded.join('')}/snapshot` }
}

function hex(character) {
  return character.charCodeAt(0).toString(16)
}

function newQuery() {
  const body = JSON.stringify({
    query: `{ vault(address: "${vaults[0]}") { netUsd status } } # ${process.pid} ${++count}`,
  })
  return { path: '/graphql', method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

/**
 * Returns a function that sends a request on one keep-alive connection.
 * @param nextRequest returns the options and body of the request
 */
function createClient(samples, nextRequest) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return () =>
    new Promise((resolve) => {
      const { body, ...options } = nextRequest()
      const failed = () => {
        samples.failed++
        resolve()
      }
      const outgoing = request(
        { ...options, agent, port, host: '127.0.0.1', timeout: timeoutMilliseconds },
        (response) => {
          response.resume()
          response.on('end', () => (response.statusCode === 200 ? resolve() : failed()))
          response.on('error', failed)
        },
      )
      outgoing.on('timeout', () => outgoing.destroy(new Error('no response')))
      outgoing.on('error', failed)
      outgoing.end(body)
    })
}
