/*
 * Measures what honest clients see of a gateway, in a process of its own, so that making the attack takes no time from
 * what is measured: /health on one connection, snapshots by two readers, and a GraphQL query in a text that is never
 * asked twice. Arguments: port, then the addresses of the vaults. Samples between the messages `begin` and `end`.
 */
import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'

const healthMilliseconds = 50
const readers = 2
const readerPauseMilliseconds = 5
const queryPauseMilliseconds = 100
/** Longer than any block of an event loop that was seen, so that its length is told. */
const patienceMilliseconds = 150_000

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
      client(samples, () => ({ path: '/health' })),
    ),
    repeat(state, samples.queries, queryPauseMilliseconds, false, client(samples, newQuery)),
    ...Array.from({ length: readers }, () =>
      repeat(state, samples.snapshots, readerPauseMilliseconds, false, client(samples, snapshot)),
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

/** @param isSchedule whether the pause counts from one request's start to the next one's, else from its end */
async function repeat(state, times, pause, isSchedule, ask) {
  for (;;) {
    const begun = performance.now()
    await ask()
    const took = performance.now() - begun
    times.push(took)
    if (state.isOver) return
    await wait(isSchedule ? Math.max(1, pause - took) : pause)
  }
}

let count = 0

/** A spelling of the path that was not asked before, so that no cache of answers has it. */
function snapshot() {
  const vault = vaults[count % vaults.length]
  const bits = ++count
  const spelled = [...vault].map((digit, at) => ((bits >> at) & 1 && at < 20 ? `%${hex(digit)}` : digit))
  return { path: `/vault/${spelled.join('')}/snapshot` }
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

/** Asks on one connection, which is kept. */
function client(samples, next) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return () =>
    new Promise((resolve) => {
      const { body, ...options } = next()
      const failed = () => {
        samples.failed++
        resolve()
      }
      const sent = request(
        { ...options, agent, port, host: '127.0.0.1', timeout: patienceMilliseconds },
        (response) => {
          response.resume()
          response.on('end', () => (response.statusCode === 200 ? resolve() : failed()))
          response.on('error', failed)
        },
      )
      sent.on('timeout', () => sent.destroy(new Error('no answer')))
      sent.on('error', failed)
      sent.end(body)
    })
}
