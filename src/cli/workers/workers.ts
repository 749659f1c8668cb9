import type { Worker } from 'node:cluster'
import type { MetricsEndpoint } from '../../http/ops/metrics-endpoint.ts'
import type { FeedConditions } from '../feed-conditions.ts'
import type { Log } from '../log.ts'
import { createIpcQuestions, type ToPrimary, type ToWorker } from './ipc.ts'
import { supervisor } from './supervisor.ts'

/** How long a worker may take to tell its metrics; one that is too busy is left out of that scrape. */
const tellMilliseconds = 1_000

export interface WorkersOptions {
  readonly count: number
  readonly log: Log
  /** The metrics of all, for a worker that is asked for them. */
  readonly tell: MetricsEndpoint
  readonly conditions: () => FeedConditions
}

/** Processes that answer on one port, each of which is replaced when it ends, and what is said between them and this one. */
export interface Workers {
  /**
   * Starts them.
   * @returns the port
   * @throws {WorkerFailed}
   */
  start(): Promise<number>
  /** Has them know how the feeds are. */
  feedsChanged(conditions: FeedConditions): void
  /** Their own metrics, of those that tell in time. */
  metrics(): Promise<string[]>
  /** Has them finish what runs, and kills those that take longer. */
  close(seconds: number): Promise<void>
}

export function createWorkers({ count, log, tell, conditions }: WorkersOptions): Workers {
  const toWorkers = createIpcQuestions(tellMilliseconds)
  const supervised = supervisor({
    count,
    log,
    onFork: (worker) => void worker.on('message', (message: ToPrimary) => hear(worker, message)),
  })

  function hear(worker: Worker, message: ToPrimary): void {
    if (message.kind === 'here') tellState(worker)
    if (message.kind === 'own metrics') toWorkers.answer(message.id, message.text)
    if (message.kind === 'all metrics?') {
      void tell().then((text) => say(worker, { kind: 'all metrics', id: message.id, text }))
    }
  }

  /** What was said to the others before this one heard. */
  function tellState(worker: Worker): void {
    say(worker, { kind: 'feeds', conditions: conditions() })
    if (supervised.isStopping()) say(worker, { kind: 'stop' })
  }

  return {
    start: () => supervised.start(),

    feedsChanged(now) {
      for (const worker of supervised.alive) say(worker, { kind: 'feeds', conditions: now })
    },

    async metrics() {
      const asked = Array.from(supervised.alive, (worker) =>
        toWorkers.ask((id) => say(worker, { kind: 'own metrics?', id })),
      )
      return (await Promise.all(asked)).filter((text) => text !== null)
    },

    async close(seconds) {
      const closed = supervised.close(seconds)
      for (const worker of supervised.alive) say(worker, { kind: 'stop' })
      await closed
    },
  }
}

function say(worker: Worker, message: ToWorker): void {
  // One that has just ended hears nothing, and its end tells.
  if (worker.isConnected()) worker.send(message, () => undefined)
}
