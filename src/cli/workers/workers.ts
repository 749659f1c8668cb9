import type { Worker } from 'node:cluster'
import type { MetricsEndpoint } from '../../http/ops/metrics-endpoint.ts'
import type { FeedConditions } from '../feed-conditions.ts'
import type { Log } from '../log.ts'
import { createIpcQuestions, type ToPrimary, type ToWorker } from './ipc.ts'
import { supervisor } from './supervisor.ts'

/** Timeout of a worker's metrics; a scrape leaves out workers that are too busy. */
const metricsTimeoutMilliseconds = 1_000

/** Options of {@link createWorkers}. */
export interface WorkersOptions {
  readonly count: number
  /** File that the workers run. */
  readonly program: string
  /** Names of the migrations that the program needs. */
  readonly migrations: readonly string[]
  readonly log: Log
  /** Collects the metrics of all processes, for a worker that received the request. */
  readonly metricsEndpoint: MetricsEndpoint
  readonly conditions: () => FeedConditions
}

/** The worker processes of a gateway, and the messages between them and the primary. */
export interface Workers {
  /**
   * Starts the workers.
   * @returns the port
   * @throws {WorkerFailed} when the first worker ends before it listens
   */
  start(): Promise<number>
  /** Sends the state of the feeds to all workers. */
  feedsChanged(conditions: FeedConditions): void
  /** Collects the metrics of the workers that answer in time. */
  metrics(): Promise<string[]>
  /** Lets workers finish their requests, and kills those that take longer. */
  close(seconds: number): Promise<void>
}

/** Creates the workers of a gateway. */
export function createWorkers({
  count,
  program,
  migrations,
  log,
  metricsEndpoint,
  conditions,
}: WorkersOptions): Workers {
  const toWorkers = createIpcQuestions(metricsTimeoutMilliseconds)
  const supervised = supervisor({
    count,
    program,
    migrations,
    log,
    onFork: (worker) => void worker.on('message', (message: ToPrimary) => onMessage(worker, message)),
  })

  function onMessage(worker: Worker, message: ToPrimary): void {
    if (message.kind === 'here') sendState(worker)
    if (message.kind === 'own metrics') toWorkers.answer(message.id, message.text)
    if (message.kind === 'all metrics?') {
      void metricsEndpoint().then((text) => say(worker, { kind: 'all metrics', id: message.id, text }))
    }
  }

  /** Sends a worker the state that was announced before it listened for messages. */
  function sendState(worker: Worker): void {
    say(worker, { kind: 'feeds', conditions: conditions() })
    if (supervised.isStopping()) say(worker, { kind: 'stop' })
  }

  return {
    start: () => supervised.start(),

    feedsChanged(now) {
      for (const worker of supervised.alive) say(worker, { kind: 'feeds', conditions: now })
    },

    async metrics() {
      const answers = Array.from(supervised.alive, (worker) =>
        toWorkers.ask((id) => say(worker, { kind: 'own metrics?', id })),
      )
      return (await Promise.all(answers)).filter((text) => text !== null)
    },

    async close(seconds) {
      const closed = supervised.close(seconds)
      for (const worker of supervised.alive) say(worker, { kind: 'stop' })
      await closed
    },
  }
}

function say(worker: Worker, message: ToWorker): void {
  // A worker that has just ended is handled by its exit event.
  if (worker.isConnected()) worker.send(message, () => undefined)
}
