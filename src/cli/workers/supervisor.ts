import cluster, { type Worker } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../log.ts'

/** A worker that lives as long as this has shown that it can. */
const steadyMilliseconds = 10_000
const leastBackoffMilliseconds = 100
const mostBackoffMilliseconds = 10_000

/** The variable that tells a worker its number. */
export const workerVariable = 'VAULT_GATEWAY_WORKER'

/** The first worker ended before it served, and so would the others. */
export class WorkerFailed extends Error {
  constructor(readonly status: number | null) {
    super(`The first worker ended with status ${String(status)} before it served; it has said why.`)
    this.name = 'WorkerFailed'
  }
}

export interface SupervisorOptions {
  readonly count: number
  readonly log: Log
  /** Is told of each worker before it does anything. */
  readonly onFork: (worker: Worker) => void
}

/** Keeps so many workers alive, each under a number. */
export interface Supervisor {
  readonly alive: ReadonlySet<Worker>
  readonly isStopping: () => boolean
  /**
   * Starts them: the first one shows whether it can be done.
   * @returns the port
   * @throws {WorkerFailed}
   */
  start(): Promise<number>
  /** Replaces none from now on, waits for the end of those that are alive, and kills those that take longer. */
  close(seconds: number): Promise<void>
}

export function supervisor({ count, log, onFork }: SupervisorOptions): Supervisor {
  const stopping = new AbortController()
  const isStopping = (): boolean => stopping.signal.aborted
  const alive = new Set<Worker>()
  const kept: Promise<void>[] = []

  function fork(number: number): Worker {
    const worker = cluster.fork({ [workerVariable]: String(number) })
    log.info('A worker starts', { worker: number, pid: worker.process.pid })
    alive.add(worker)
    worker.once('exit', () => alive.delete(worker))
    // What is sent to one that has just ended is told as its error.
    worker.on('error', () => undefined)
    onFork(worker)
    return worker
  }

  /** Has a worker of this number until the end: another one when it ends, at once or, where it can't live, later. */
  async function keep(number: number, first: Worker): Promise<void> {
    let failures = 0
    let worker = first
    while (!isStopping()) {
      const started = performance.now()
      const ended = await endOf(worker)
      if (isStopping()) return
      failures = performance.now() - started < steadyMilliseconds ? failures + 1 : 0
      const afterMilliseconds = backoff(failures)
      const facts = { worker: number, pid: worker.process.pid, ...ended, afterMilliseconds }
      log.error('A worker ended, and is replaced', facts)
      await wait(afterMilliseconds, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (!isStopping()) worker = fork(number)
    }
  }

  return {
    alive,
    isStopping,

    async start() {
      // Workers have nothing to do with the standard input: a feed may come by it.
      cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      const first = fork(1)
      const port = await portOf(first)
      kept.push(keep(1, first))
      for (let number = 2; number <= count; number++) kept.push(keep(number, fork(number)))
      return port
    },

    async close(seconds) {
      stopping.abort()
      const ended = Promise.all(kept)
      await Promise.race([ended, wait(seconds * 1000, undefined, { ref: false })])
      if (alive.size > 0) log.warn('Workers that took too long to end were killed', { killed: alive.size })
      for (const worker of alive) worker.process.kill('SIGKILL')
      await ended
    },
  }
}

/** Milliseconds to wait before a worker is replaced, after so many that didn't live long. */
export function backoff(failures: number): number {
  if (failures === 0) return 0
  return Math.min(leastBackoffMilliseconds * 2 ** (failures - 1), mostBackoffMilliseconds)
}

function endOf(worker: Worker): Promise<{ status: number | null; signal: string | null }> {
  return new Promise((resolve) => {
    worker.once('exit', (status: number | null, signal: string | null) => resolve({ status, signal }))
  })
}

/** @throws {WorkerFailed} where it ends without one */
async function portOf(worker: Worker): Promise<number> {
  const listening = new Promise<number>((resolve) => worker.once('listening', ({ port }) => resolve(port)))
  const ended = endOf(worker).then(({ status }) => Promise.reject(new WorkerFailed(status)))
  return Promise.race([listening, ended])
}
