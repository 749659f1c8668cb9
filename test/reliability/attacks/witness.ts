import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/** Times of honest requests in milliseconds, each list in the order of its requests. */
export interface Samples {
  readonly health: readonly number[]
  readonly snapshots: readonly number[]
  /** Of small GraphQL queries, none of which was asked before. */
  readonly queries: readonly number[]
  /** Honest requests that were answered otherwise than 200, or not at all. */
  readonly failed: number
  /** The longest that the measuring process itself was kept from running: what is measured is no finer. */
  readonly ownDelay: number
}

/** Honest clients of a gateway, in a process of their own. */
export interface Witness {
  begin(): void
  /** Resolves when the last requests have been answered too. */
  end(): Promise<Samples>
  close(): void
}

/** @param vaults addresses whose snapshots are asked for */
export function startWitness(port: number, vaults: readonly string[]): Witness {
  const script = path.resolve(import.meta.dirname, 'witness.mjs')
  const child = fork(script, [String(port), ...vaults], { execArgv: [] })
  return {
    begin: () => void child.send('begin'),
    async end() {
      const told = once(child, 'message')
      child.send('end')
      return (await told)[0] as Samples
    },
    close: () => void child.kill(),
  }
}
