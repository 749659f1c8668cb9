import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Arrivals, SubscriberOrder } from './subscribers.ts'

/** Subscribers of a gateway, in a process of their own. */
export interface SubscriberProcess {
  /**
   * Opens streams on the paths in turn, and waits for the first snapshot of each.
   * @returns the number of streams
   */
  open(port: number, paths: readonly string[], count: number): Promise<number>
  /** Takes the snapshots that came since the last time. */
  take(): Promise<Arrivals>
  closeStreams(): Promise<void>
  end(): void
}

export function startSubscribers(): SubscriberProcess {
  const child = fork(path.resolve(import.meta.dirname, 'subscribers.ts'), { execArgv: ['--import', 'tsx'] })
  const ask = async (order: SubscriberOrder): Promise<unknown> => {
    child.send(order)
    const exited = once(child, 'exit').then(() => Promise.reject(new Error('The subscribers have ended.')))
    return ((await Promise.race([once(child, 'message'), exited])) as [unknown])[0]
  }
  return {
    open: async (port, paths, count) => (await ask({ open: { port, paths, count } })) as number,
    take: async () => (await ask({ take: true })) as Arrivals,
    closeStreams: async () => void (await ask({ close: true })),
    end: () => void child.kill(),
  }
}
