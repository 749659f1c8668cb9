import type { LedgerRow, PositionRow, StrategyRow, VaultRow } from '../../../database/read/rows.ts'
import { builder } from '../builder.ts'

/** The row of an object that has a global id. */
export type NodeRow = VaultRow | StrategyRow | PositionRow | LedgerRow

/** Returns the GraphQL type of a row, by a column that only rows of that type have. */
function typeNameOf(row: NodeRow): string {
  if ('address' in row) return 'Vault'
  if ('txHash' in row) return 'LedgerRow'
  return 'venue' in row ? 'Position' : 'Strategy'
}

/** Relay's interface of objects that can be refetched by their id. */
export const NodeInterface = builder.interfaceRef<NodeRow>('Node').implement({
  description:
    'An object that can be fetched again by its id, which is unique over all types: clients may keep it in a cache under that id alone.',
  resolveType: typeNameOf,
  // The compiler reads this extension: Pothos passes its own type resolver more arguments than it needs.
  extensions: { typeNameOf },
  fields: (t) => ({
    id: t.id({ description: 'Identifier of the object, unique over all types.' }),
  }),
})
