import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type AppliedPart, type Gate, type Part, RoundAbandoned, type Writer } from '../../feed/jobs/writer.ts'
import { type FromWriter, packPart, type ToWriter, unpackOutcomes } from './messages.ts'

/**
 * Starts writers, each in a separate thread.
 * @param file the compiled thread.ts
 * @param url of the PostgreSQL server
 * @throws when a thread cannot be started
 */
export async function startWriterThreads(file: URL, url: string, count: number): Promise<Writer[]> {
  const workers = Array.from({ length: count }, () => new Worker(file, { workerData: { url } }))
  try {
    // The first message of a thread is `ready`.
    await Promise.all(workers.map((worker) => once(worker, 'message')))
  } catch (error) {
    await Promise.all(workers.map((worker) => worker.terminate()))
    throw error
  }
  return workers.map((worker) => new WriterThread(worker))
}

class WriterThread implements Writer {
  #onMessage: (message: FromWriter) => void = () => undefined
  #fail: (error: unknown) => void = () => undefined
  #hasEnded = false

  constructor(readonly worker: Worker) {
    worker.on('message', (message: FromWriter) => this.#onMessage(message))
    worker.on('error', (error) => this.#fail(error))
    worker.on('exit', () => {
      this.#hasEnded = true
      this.#fail(new RoundAbandoned('the thread of a writer has ended'))
    })
  }

  apply(part: Part, gate: Gate): Promise<AppliedPart> {
    if (this.#hasEnded) return Promise.reject(new RoundAbandoned('the thread of a writer has ended'))
    return new Promise((resolve, reject) => {
      this.#fail = reject
      this.#onMessage = (message) => {
        if (message.kind === 'failed') reject(new RoundAbandoned(message.reason))
        else if (message.kind === 'applied') resolve({ ...message.applied, outcomes: unpackOutcomes(message.outcomes) })
        else if (message.kind === 'written') this.#pass(gate(unpackOutcomes(message.outcomes)))
      }
      const packed = packPart(part)
      this.#say({ kind: 'apply', part: packed }, [packed.bytes.buffer, packed.lengths.buffer])
    })
  }

  async close(): Promise<void> {
    if (this.#hasEnded) return
    const ended = once(this.worker, 'exit')
    this.#say({ kind: 'close' })
    await ended
  }

  #pass(opened: Promise<void>): void {
    opened.then(
      () => this.#say({ kind: 'gate', isOpen: true }),
      () => this.#say({ kind: 'gate', isOpen: false }),
    )
  }

  #say(message: ToWriter, moved: ArrayBuffer[] = []): void {
    this.worker.postMessage(message, moved)
  }
}
