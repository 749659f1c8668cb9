import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { changesChannel, readChanges } from './changes.ts'
import type { StopWatching, Watcher } from './watcher.ts'

/** How often the connection is asked whether it lives: one that died silently is known to be dead so much later. */
const beatMilliseconds = 1_000
const answerMilliseconds = 2_000

/** Listens for changes on a connection of its own, and again when it is back after it was lost. */
export function watchPostgreSql(url: string, watcher: Watcher): StopWatching {
  const stopping = new AbortController()
  const ended = keepListening(url, watcher, stopping.signal)
  return () => {
    stopping.abort()
    return ended
  }
}

async function keepListening(url: string, watcher: Watcher, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await listenOnce(url, watcher, signal)
    await beat(signal)
  }
}

/** Listens until the connection is lost. */
async function listenOnce(url: string, watcher: Watcher, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: answerMilliseconds,
    query_timeout: answerMilliseconds,
  })
  const state = { isListening: false }
  const lost = (): void => {
    if (state.isListening) watcher.listening(false)
    state.isListening = false
  }
  client.on('error', lost).on('end', lost)
  client.on('notification', ({ payload }) => watcher.changed(readChanges(payload ?? '[]')))
  try {
    await client.connect()
    await client.query(`listen ${changesChannel}`)
    state.isListening = true
    watcher.listening(true)
    while (!signal.aborted) {
      // It fails where the connection is lost, or the server doesn't answer.
      await client.query('select 1')
      await beat(signal)
    }
  } catch {
    // It is tried again.
  } finally {
    lost()
    await Promise.race([client.end().catch(() => undefined), beat(signal)])
  }
}

function beat(signal: AbortSignal): Promise<void> {
  return wait(beatMilliseconds, undefined, { signal }).catch(() => undefined)
}
