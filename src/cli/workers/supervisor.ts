import cluster, { type Worker } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../log.ts'

/** A worker that ran for this long counts as healthy. */
const healthyMilliseconds = 10_000
const minBackoffMilliseconds = 100
const maxBackoffMilliseconds = 10_000

/** Environment variable with a worker's number. */
export const workerVariable = 'VAULT_GATEWAY_WORKER'

/** Environment variable with the names of the migrations that a worker needs. */
export const migrationsVariable = 'VAULT_GATEWAY_MIGRATIONS'

/** The first worker ended before it served requests, as the other workers would. */
export class WorkerFailed extends Error {
  constructor(end: WorkerEnd) {
    super(reasonOf(end))
    this.name = 'WorkerFailed'
  }
}

function reasonOf({ status, signal, error }: WorkerEnd): string {
  if (error !== undefined) return `The first worker could not be started: ${error}.`
  if (signal === null) return `The first worker ended with status ${String(status)} before it served; it has said why.`
  const hint = signal === 'SIGKILL' ? ': the system sends this signal where memory runs out' : ''
  return `The first worker was ended by ${signal} before it served${hint}.`
}

/** Options of {@link supervisor}. */
export interface SupervisorOptions {
  readonly count: number
  /** File that the workers run. */
  readonly program: string
  /** Names of the migrations that the program needs. */
  readonly migrations: readonly string[]
  readonly log: Log
  /** Called for each worker when it is forked. */
  readonly onFork: (worker: Worker) => void
}

/** Keeps a number of worker processes running. */
export interface Supervisor {
  readonly alive: ReadonlySet<Worker>
  readonly isStopping: () => boolean
  /**
   * Starts the first worker, and the other workers after the first has succeeded.
   * @returns the port
   * @throws {WorkerFailed} when the first worker ends before it listens
   */
  start(): Promise<number>
  /** Stops starting and replacing workers, waits until they have ended, and kills those that take longer. */
  close(seconds: number): Promise<void>
}

/** Creates a supervisor. */
export function supervisor({ count, program, migrations, log, onFork }: SupervisorOptions): Supervisor {
  const stopping = new AbortController()
  const isStopping = (): boolean => stopping.signal.aborted
  const alive = new Set<Worker>()
  const running: Promise<void>[] = []

  function fork(number: number): Worker {
    const worker = cluster.fork({ [workerVariable]: String(number), [migrationsVariable]: migrations.join() })
    log.info('A worker starts', { worker: number, pid: worker.process.pid })
    alive.add(worker)
    worker.once('exit', () => alive.delete(worker))
    // Sending to a worker that has just ended emits an error. A worker that could not be started emits no exit.
    worker.on('error', () => {
      if (worker.process.pid === undefined) alive.delete(worker)
    })
    onFork(worker)
    return worker
  }

  /** Replaces a worker whenever it ends: immediately, or after a backoff where it fails repeatedly. */
  async function keepRunning(number: number, first: Worker | Error): Promise<void> {
    let failures = 0
    let worker = first
    while (!isStopping()) {
      const started = performance.now()
      const ended = worker instanceof Error ? unstarted(worker) : await endOf(worker)
      if (isStopping()) return
      failures = performance.now() - started < healthyMilliseconds ? failures + 1 : 0
      const afterMilliseconds = backoff(failures)
      const pid = worker instanceof Error ? undefined : worker.process.pid
      log.error('A worker ended, and is replaced', { worker: number, pid, ...ended, afterMilliseconds })
      await wait(afterMilliseconds, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (!isStopping()) worker = tryToFork(number)
    }
  }

  /** Starts a worker; returns the error if the operating system cannot, for example for lack of memory. */
  function tryToFork(number: number): Worker | Error {
    try {
      return fork(number)
    } catch (error) {
      return error as Error
    }
  }

  return {
    alive,
    isStopping,

    async start() {
      // Each worker accepts connections itself. With round-robin, the primary hands over the next connection only after
      // a worker has acknowledged the last one: after a burst of connections to busy workers, others wait for seconds.
      cluster.schedulingPolicy = cluster.SCHED_NONE
      // Workers must not read standard input, which may be a feed.
      cluster.setupPrimary({ exec: program, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      const first = fork(1)
      running.push(endOf(first).then(() => undefined))
      const port = await portOf(first)
      running.push(keepRunning(1, first))
      for (let number = 2; number <= count && !isStopping(); number++)
        running.push(keepRunning(number, tryToFork(number)))
      return port
    },

    async close(seconds) {
      stopping.abort()
      const ended = Promise.all(running)
      await Promise.race([ended, wait(seconds * 1000, undefined, { ref: false })])
      if (alive.size > 0) log.warn('Workers that took too long to end were killed', { killed: alive.size })
      for (const worker of alive) worker.process.kill('SIGKILL')
      await ended
    },
  }
}

/** Returns the delay before a worker is replaced, in milliseconds, after a number of short-lived ones. */
export function backoff(failures: number): number {
  if (failures === 0) return 0
  return Math.min(minBackoffMilliseconds * 2 ** (failures - 1), maxBackoffMilliseconds)
}

/** How a worker ended. */
interface WorkerEnd {
  readonly status: number | null
  readonly signal: string | null
  /** Why the worker could not be started. */
  readonly error?: string
}

function unstarted({ message }: Error): WorkerEnd {
  return { status: null, signal: null, error: message }
}

/** Resolves when a worker has ended, or could not be started, for which Node emits no exit. */
function endOf(worker: Worker): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    worker.once('exit', (status: number | null, signal: string | null) => resolve({ status, signal }))
    worker.process.once('error', (error) => {
      if (worker.process.pid === undefined) resolve(unstarted(error))
    })
  })
}

/**
 * Resolves with the port that a worker listens on.
 * @throws {WorkerFailed} when the worker ends first
 */
async function portOf(worker: Worker): Promise<number> {
  const listening = new Promise<number>((resolve) => worker.once('listening', ({ port }) => resolve(port)))
  const ended = endOf(worker).then((end) => Promise.reject(new WorkerFailed(end)))
  return Promise.race([listening, ended])
}
