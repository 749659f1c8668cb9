import { listLimits } from '../../limits.ts'
import {
  countLedger,
  type LedgerFilter,
  type LedgerPage,
  type LedgerRowKey,
  readLedger,
  readLedgerRows,
} from '../../database/read/ledger.ts'
import type { LedgerRow } from '../../database/read/rows.ts'
import { ledgerRowGlobalId } from '../../domain/identity/global-id.ts'
import { type EventType, eventTypes, type LedgerKey } from '../../domain/ledger.ts'
import { distinct, requireWithin, upTo, windowOf } from './arguments.ts'
import { builder } from './builder.ts'
import { connectionType, decodeCursor, encodeCursor, pageOf } from './connection.ts'
import { groupRowsByKey, createLoader } from '../execution/data-loaders.ts'
import { NodeInterface } from './node/node-interface.ts'

const loadRows = createLoader('ledger', async (reader, vaults: readonly string[], page: LedgerPage) =>
  groupRowsByKey(vaults, await readLedger(reader, vaults, page), (row) => row.vaultAddress),
)

const loadCount = createLoader('ledger counts', async (reader, vaults: readonly string[], filter: LedgerFilter) => {
  const counts = await countLedger(reader, vaults, filter)
  return new Map(counts.map(({ vault, count }) => [vault, count]))
})

export const loadLedgerRow = createLoader('ledger rows', async (reader, keys: readonly LedgerRowKey[]) => {
  const rows = await readLedgerRows(reader, keys)
  const byId = new Map(rows.map((row) => [idOf(row), row]))
  return new Map(
    keys.flatMap((key) => {
      const row = byId.get(ledgerRowGlobalId(key.vault, key.txHash, key.logIndex))
      return row === undefined ? [] : [[key, row]]
    }),
  )
})

function idOf({ vaultAddress, txHash, logIndex }: LedgerRow): string {
  return ledgerRowGlobalId(vaultAddress, txHash, logIndex)
}

export const EventTypeEnum = builder.enumType('EventType', {
  description: 'Type of an event of a vault.',
  values: {
    DEPOSIT: { value: 'deposit', description: 'Capital came in.' },
    WITHDRAW: { value: 'withdraw', description: 'Capital went out.' },
    PLANT: { value: 'plant', description: 'Liquidity was put into a position.' },
    REBALANCE: { value: 'rebalance', description: 'A position was moved to another range.' },
    HARVEST: { value: 'harvest', description: 'Rewards of a position were collected.' },
    EXIT: { value: 'exit', description: 'The vault began to leave a position.' },
    FEE: { value: 'fee', description: 'A fee was taken.' },
    SUSPEND: { value: 'suspend', description: 'The vault was suspended.' },
    RESUME: { value: 'resume', description: 'The suspension was lifted.' },
  } as const satisfies Record<Uppercase<EventType>, unknown>,
})

export const LedgerRowType = builder.prismaObject('LedgerRow', {
  description: "A row of a vault's activity ledger.",
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id({
      description:
        "Identifier of the row, unique over all types: its vault's address, `/event/`, the transaction hash, `/` and the log index.",
      resolve: idOf,
    }),
    txHash: t.expose('txHash', { type: 'TxHash', description: 'Hash of the transaction.' }),
    logIndex: t.exposeInt('logIndex', { description: 'Index of the log in its block.' }),
    block: t.expose('block', { type: 'BlockNumber', description: 'Number of the block.' }),
    ts: t.expose('ts', { type: 'UnixTime', description: 'When, in Unix seconds.' }),
    type: t.expose('type', { type: EventTypeEnum, description: 'Type of the event.' }),
    amountUsd: t.expose('amountUsd', {
      type: 'Usd',
      nullable: true,
      description: 'The amount moved, in USD; null where the event moves none or its amount is not known.',
    }),
    positionId: t.exposeString('positionId', {
      nullable: true,
      description: 'The positionId of the position it is about; null where it is about none.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why the vault was suspended; null on other events.',
    }),
  }),
})

const LedgerConnection = connectionType<LedgerRow>('Ledger', LedgerRowType, 'ledger rows')

builder.prismaObjectField('Vault', 'events', (t) =>
  t.field({
    type: LedgerConnection,
    description: "The vault's activity ledger, newest first: by block, then log index, descending.",
    args: {
      type: t.arg({ type: [EventTypeEnum], description: 'Only rows of these types; with an empty list, none.' }),
      since: t.arg({ type: 'UnixTime', description: 'From this time on, included.' }),
      until: t.arg({ type: 'UnixTime', description: 'Up to this time, not included.' }),
      first: t.arg.int({
        required: true,
        defaultValue: listLimits.events.default,
        description: `How many rows at most, ${listLimits.events.min} to ${listLimits.events.max}.`,
      }),
      after: t.arg.string({
        description: 'The cursor of the row before the page; without it, the newest row is first.',
      }),
    },
    resolve: async (vault, { type, since, until, ...args }, context) => {
      const window = upTo(windowOf(since, until), vault.moment)
      const filter = { types: distinct('type', type, eventTypes.length), ...window }
      const first = requireWithin('first', args.first, listLimits.events)
      const page = { ...filter, first, after: args.after == null ? null : readCursor(args.after, vault.address) }
      return pageOf({
        rows: (await loadRows(context, vault.address, page)) ?? [],
        length: first,
        cursor: args.after,
        cursorOf: ({ block, logIndex, txHash }) => encodeCursor([block, logIndex, txHash, vault.address]),
        totalCount: async () => (await loadCount(context, vault.address, filter)) ?? 0,
      })
    },
  }),
)

/** Reads a cursor of a vault's ledger: a row of another vault cannot be in it. */
function readCursor(cursor: string, vaultAddress: string): LedgerKey {
  const isOurs = (parts: unknown[]): parts is [number, number, string, string] =>
    parts.length === 4 && isLedgerKey(parts) && parts[3] === vaultAddress
  const [block, logIndex, txHash] = decodeCursor('after', cursor, isOurs)
  return { block, logIndex, txHash }
}

function isLedgerKey([block, logIndex, txHash]: unknown[]): boolean {
  return (
    isIntegerUpTo(Number.MAX_SAFE_INTEGER, block) &&
    isIntegerUpTo(2 ** 31 - 1, logIndex) &&
    typeof txHash === 'string' &&
    /^0x[0-9a-f]{64}$/.test(txHash)
  )
}

/** The sort key of a row is computed from its block: a negative one could exceed the range of the database. */
function isIntegerUpTo(max: number, value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max
}
