import { maxStreamVaults } from '../../../limits/live.ts'
import type { StreamedRow } from '../../ledger-log.ts'
import { builder } from '../builder.ts'
import { EventTypeEnum, LedgerRowType } from '../ledger.ts'
import { Meta } from '../meta.ts'
import { loadVault, VaultType } from '../vault.ts'

/**
 * Placeholder for the events of each field: http/live runs the operation once per event, and writes one result to
 * all its subscribers.
 */
function noEvents(): AsyncIterable<never> {
  throw new Error('Subscriptions are run event by event.')
}

builder.subscriptionType({
  description:
    'Changes, pushed as server-sent events by the protocol of GraphQL over SSE, in its distinct connections mode. A subscription is bounded in its cost, because it is run again at each change.',
})

const LedgerChange = builder.objectRef<StreamedRow>('LedgerChange').implement({
  description: 'A new row of the ledger of a vault.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', {
      description: 'Its position in the stream: send it as `after` to continue after it.',
    }),
    vault: t.field({
      type: VaultType,
      description: 'The vault, in its newest state.',
      resolve: async ({ vaultAddress }, _, context) => {
        const vault = await loadVault(context, vaultAddress, null)
        if (vault === undefined) throw new Error(`The vault ${vaultAddress} of a ledger row is not known.`)
        return vault
      },
    }),
    event: t.field({ type: LedgerRowType, description: 'The row.', resolve: (row) => row }),
  }),
})

builder.subscriptionFields((t) => ({
  vault: t.field({
    type: VaultType,
    nullable: true,
    description: 'The vault at an address, at once and on each change of the result; null while none is known.',
    args: { address: t.arg({ type: 'Address', required: true, description: 'Address of the vault.' }) },
    subscribe: noEvents,
    resolve: (_, { address }, context) => loadVault(context, address, null),
  }),
  ledger: t.field({
    type: LedgerChange,
    description:
      'New rows of ledgers, in the order of their commits: none is skipped, and none repeated. A cursor that is not part of the current history, or is no longer kept, ends the stream with the error HISTORY_CHANGED.',
    args: {
      vaults: t.arg({
        type: ['Address'],
        description: `Only rows of these vaults, at most ${maxStreamVaults}; with an empty list, none; without it, of all.`,
      }),
      types: t.arg({ type: [EventTypeEnum], description: 'Only rows of these types; with an empty list, none.' }),
      after: t.arg.string({
        description: 'Only rows after this cursor, or after this data version; without it, only rows from now on.',
      }),
    },
    subscribe: noEvents,
    resolve: (row: StreamedRow) => row,
  }),
  meta: t.field({
    type: Meta,
    description: 'How new the data is, at once and after each commit.',
    subscribe: noEvents,
    resolve: (_, __, context) => {
      context.origin.isCacheable = false
      return context.stateAtStart
    },
  }),
}))
