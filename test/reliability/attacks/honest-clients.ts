import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/** Response times of honest clients in milliseconds, in the order of the requests. */
export interface LatencySamples {
  readonly health: readonly number[]
  readonly snapshots: readonly number[]
  /** Response times of small GraphQL queries with texts that no cache contains. */
  readonly queries: readonly number[]
  /** Number of requests with a status other than 200, or without a response. */
  readonly failed: number
  /** Longest event-loop delay of the measuring process in milliseconds: the precision of the samples. */
  readonly ownDelay: number
}

/** Honest clients of a gateway, which measure response times in a separate process. */
export interface HonestClients {
  /** Starts a period of sampling. */
  begin(): void
  /** Ends the period; resolves when the last requests have completed. */
  end(): Promise<LatencySamples>
  close(): void
}

/**
 * Starts honest clients.
 * @param vaults addresses of the vaults whose snapshots are requested
 */
export function startHonestClients(port: number, vaults: readonly string[]): HonestClients {
  const script = path.resolve(import.meta.dirname, 'honest-clients.mjs')
  const child = fork(script, [String(port), ...vaults], { execArgv: [] })
  return {
    begin: () => void child.send('begin'),
    async end() {
      const message = once(child, 'message')
      child.send('end')
      return (await message)[0] as LatencySamples
    },
    close: () => void child.kill(),
  }
}
