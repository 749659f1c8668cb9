import {
  EquityDocument,
  EventsDocument,
  SnapshotAtDocument,
  SnapshotDocument,
  StrategiesDocument,
  UniverseDocument,
  UniversePairsDocument,
} from './documents.generated.ts'
import { listLimits } from '../limits.ts'
import { count, cursor, eventTypesParameter, timeParameter } from './parameters.ts'
import { type NotFound, type Route, route } from './route.ts'
import {
  address,
  equityPoint,
  ledgerRow,
  type Schema,
  snapshot,
  strategy,
  universeAsset,
  universePair,
} from './openapi/schemas.ts'

/** Schemas of path parameters, by name. */
export const pathParameterSchemas: Readonly<Record<string, Schema>> = {
  address: address(
    'Address of the vault: EVM, all lower or upper case, or mixed case with a valid EIP-55 checksum.',
    '0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A',
  ),
}

const window = {
  since: timeParameter('since', 'Start of the period, inclusive, in Unix seconds.', 1763424000),
  until: timeParameter('until', 'End of the period, exclusive, in Unix seconds; not before since.', 1767225600),
}

/** The problem of an address at which there is no vault, or was none at the moment that is requested. */
const vaultNotFound: NotFound = {
  code: 'VAULT_NOT_FOUND',
  detail: (variables) => {
    const atThatTime = 'at' in variables ? `, or it was not yet open at ${String(variables['at'])}` : ''
    return `no vault is known at ${String(variables['address'])}${atThatTime}`
  },
}

/** Example of a cursor, which is opaque. */
const exampleCursor =
  'WzE0Njk1MjM1MCwzLCIweDdiNDFjOWYwZTJkODVhMzY3YjQxYzlmMGUyZDg1YTM2N2I0MWM5ZjBlMmQ4NWEzNjdiNDFjOWYwZTJkODVhMzYiLCIweEY3YkYzNkRGZjFiOThDNTBEZTBkQTdEQTc2Zjk0YTRBOGQwNjc0MUEiXQ'

/** The six paths of the interface, in their documented order. */
export const routes: readonly Route[] = [
  route({
    path: '/vault/:address/snapshot',
    document: SnapshotDocument,
    documentation: {
      operation: 'getSnapshot',
      tag: 'vault',
      summary: "A vault's snapshot",
      description:
        "Its value, flows, gain and the gain's causes, positions, fees and suspension: now, or as they were at the end of a " +
        'second. An answer about a time before the newest fact of the vault never changes, and may be kept for a day.',
      schema: snapshot,
      name: 'Snapshot',
      isList: false,
    },
    queryParameters: { at: timeParameter('at', 'The moment, in Unix seconds; without it, now.', 1763431200) },
    bodyPath: ['vault'],
    notFound: vaultNotFound,
    past: {
      parameter: 'at',
      document: SnapshotAtDocument,
      isFinal: ({ moment }) => moment?.isFinal === true,
    },
  }),

  route({
    path: '/vault/:address/equity',
    document: EquityDocument,
    documentation: {
      operation: 'getEquity',
      tag: 'vault',
      summary: "A vault's equity over time",
      description:
        'Oldest first. A longer series is thinned to the recorded points that keep the shape of the net-of-flows ' +
        'curve. A deposit is no gain: compare valueUsd + capitalOutUsd - capitalInUsd.',
      schema: equityPoint,
      name: 'EquityPoint',
      isList: true,
      isTable: true,
    },
    queryParameters: {
      ...window,
      points: count('points', 'How many points at most.', listLimits.points),
    },
    bodyPath: ['vault', 'equity'],
    notFound: vaultNotFound,
  }),

  route({
    path: '/vault/:address/events',
    document: EventsDocument,
    documentation: {
      operation: 'getEvents',
      tag: 'vault',
      summary: "A vault's activity ledger",
      description:
        'Newest first: by block, then log index, descending. Where there is more, Link leads to the next page; ' +
        'following it gives each row exactly once, even while new ones arrive.',
      schema: ledgerRow,
      name: 'LedgerRow',
      isList: true,
      isTable: true,
    },
    queryParameters: {
      type: eventTypesParameter('type', 'Only rows of this type, or of several with commas.'),
      ...window,
      limit: count('first', 'How many rows at most.', listLimits.events),
      cursor: cursor('after', 'Cursor from the Link header of the previous page.', exampleCursor),
    },
    bodyPath: ['vault', 'events', 'nodes'],
    notFound: vaultNotFound,
    next: ({ vault }) => (vault?.events.pageInfo.hasNextPage === true ? vault.events.pageInfo.endCursor : null),
  }),

  route({
    path: '/strategies',
    document: StrategiesDocument,
    documentation: {
      operation: 'getStrategies',
      tag: 'catalogue',
      summary: 'The catalogue of strategies',
      description: 'With their live pairs and realised figures, in the order of their first publication.',
      schema: strategy,
      name: 'Strategy',
      isList: true,
    },
    queryParameters: {},
    bodyPath: ['strategies'],
  }),

  route({
    path: '/universe',
    document: UniverseDocument,
    documentation: {
      operation: 'getUniverse',
      tag: 'catalogue',
      summary: 'The eligible assets',
      description: "The assets that are eligible for build-your-own strategies now, in the screen's order.",
      schema: universeAsset,
      name: 'UniverseAsset',
      isList: true,
    },
    queryParameters: {},
    bodyPath: ['universe', 'assets'],
  }),

  route({
    path: '/universe/pairs',
    document: UniversePairsDocument,
    documentation: {
      operation: 'getUniversePairs',
      tag: 'catalogue',
      summary: 'The eligible pools',
      description: "The pools that are eligible for build-your-own strategies now, in the screen's order.",
      schema: universePair,
      name: 'UniversePair',
      isList: true,
    },
    queryParameters: {},
    bodyPath: ['universe', 'pairs'],
  }),
]
