import { addressesParameter, type Parameter } from './parameters.ts'
import { type Schema, snapshot } from './schemas.ts'

/** A path that answers with a stream of server-sent events. */
export interface LiveRoute {
  readonly path: string
  readonly operation: string
  readonly summary: string
  readonly description: string
  readonly parameters: Readonly<Record<string, Parameter & { readonly isRequired?: boolean }>>
  /** Type of its events, the schema of their data, and an example of a whole event. */
  readonly event: { readonly type: string; readonly schema: Schema; readonly name: string; readonly id: string }
}

const exampleVersion = '1842.7301934470216482113'

/** The path of snapshots that are pushed. */
export const liveVaults: LiveRoute = {
  path: '/live/vaults',
  operation: 'followVaults',
  summary: 'Snapshots of vaults, pushed',
  description:
    'Server-sent events: the snapshot of each vault at once, and again on each change, at most four times a second. The ' +
    'data is the body of its snapshot path, byte for byte; the id is the data version. `stale` says that the database ' +
    'is away, `reset` that the version of Last-Event-ID is none of the history.',
  parameters: {
    vault: { ...addressesParameter('vaults', 'Addresses of 1 to 100 vaults, with commas.', 100), isRequired: true },
  },
  event: { type: 'snapshot', schema: snapshot, name: 'Snapshot', id: exampleVersion },
}

/** The paths of streams. */
export const liveRoutes: readonly LiveRoute[] = [liveVaults]
