import type { FixedDocument } from '../graphql/execution/fixed-document.ts'
import { maxStreamVaults } from '../limits/live.ts'
import { LiveEventsDocument } from './documents.generated.ts'
import { addressesParameter, cursor, eventTypesParameter, type Parameter } from './parameters.ts'
import { address, ledgerRow, object, type Schema, snapshot } from './openapi/schemas.ts'
import { enumText } from './enum-text.ts'

/** A path that answers with a stream of server-sent events. */
export interface LiveRoute {
  readonly path: string
  readonly operation: string
  readonly summary: string
  readonly description: string
  readonly queryParameters: Readonly<Record<string, Parameter & { readonly isRequired?: boolean }>>
  /** Type of its events, the schema of their data, and an example of a whole event. */
  readonly event: { readonly type: string; readonly schema: Schema; readonly name: string; readonly id: string }
}

const exampleVersion = '1842.7301934470216482113'

/** The path of pushed snapshots. */
export const liveVaults: LiveRoute = {
  path: '/live/vaults',
  operation: 'followVaults',
  summary: 'Snapshots of vaults, pushed',
  description:
    'Server-sent events: the snapshot of each vault at once, and again on each change, at most four times a second. The ' +
    'data is the body of its snapshot path, byte for byte; the id is the data version. `stale` says that what was sent ' +
    'may be out of date, `reset` that the version of Last-Event-ID is not part of the current history.',
  queryParameters: {
    vault: { ...vaultsParameter(`Addresses of 1 to ${maxStreamVaults} vaults, with commas.`), isRequired: true },
  },
  event: { type: 'snapshot', schema: snapshot, name: 'Snapshot', id: exampleVersion },
}

const vaultOfRow = address('Address of the vault, checksummed.', '0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A')

/** The path of pushed ledger rows. */
export const liveEvents: LiveRoute = {
  path: '/live/events',
  operation: 'followEvents',
  summary: 'Ledger rows of vaults, pushed',
  description:
    'Server-sent events: each new ledger row, in the order of commits, none skipped and none repeated. The data is a ' +
    'row as in the events path, with its vault; the id is its position, to continue after it by Last-Event-ID or ' +
    '`after`. `stale` says that the database is away, `fresh` that it is back, `reset` that the position is not part ' +
    'of the current history or is no longer kept: read the events path again; the stream continues from the id of the reset.',
  queryParameters: {
    vault: vaultsParameter(`Only rows of these vaults: 1 to ${maxStreamVaults} addresses, with commas.`),
    type: eventTypesParameter('types', 'Only rows of this type, or of several with commas.'),
    after: cursor(
      'after',
      'Only rows after this position: the id of an event, or a Data-Version. Without it, only rows from now on. ' +
        'Last-Event-ID takes precedence.',
      exampleVersion,
    ),
  },
  event: {
    type: 'event',
    schema: object("A row of a vault's activity ledger, with its vault.", {
      vault: vaultOfRow,
      ...ledgerRow.properties,
    }),
    name: 'VaultEvent',
    id: `${exampleVersion}.1`,
  },
}

function vaultsParameter(description: string): Parameter {
  return addressesParameter('vaults', description, maxStreamVaults)
}

/** The paths of streams. */
export const liveRoutes: readonly LiveRoute[] = [liveVaults, liveEvents]

/** The document of a pushed row, which is run for each row. */
export const liveEventOperation: FixedDocument = {
  text: LiveEventsDocument,
  bodyPath: ['ledger', 'event'],
  enumTextOf: enumText,
}
