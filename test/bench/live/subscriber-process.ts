import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { ReceivedSnapshots, SubscriberCommand } from './subscribers.ts'

/** A child process that subscribes to streams of a gateway. */
export interface SubscriberProcess {
  /**
   * Opens `count` streams on the paths in turn, and waits for the first snapshot of each.
   * @returns the number of open streams
   */
  open(port: number, paths: readonly string[], count: number): Promise<number>
  /** Returns the snapshots that were received since the last call. */
  take(): Promise<ReceivedSnapshots>
  closeStreams(): Promise<void>
  end(): void
}

/** Starts the process, without streams. */
export function startSubscribers(): SubscriberProcess {
  const child = fork(path.resolve(import.meta.dirname, 'subscribers.ts'), { execArgv: ['--import', 'tsx'] })
  const send = async (command: SubscriberCommand): Promise<unknown> => {
    child.send(command)
    const exited = once(child, 'exit').then(() => Promise.reject(new Error('The process of subscribers has exited')))
    return ((await Promise.race([once(child, 'message'), exited])) as [unknown])[0]
  }
  return {
    open: async (port, paths, count) => (await send({ open: { port, paths, count } })) as number,
    take: async () => (await send({ take: true })) as ReceivedSnapshots,
    closeStreams: async () => void (await send({ close: true })),
    end: () => void child.kill(),
  }
}
