import { maxIds } from '../../../limits.ts'
import { parseGlobalId } from '../../../domain/identity/global-id.ts'
import type { PositionRow, VaultRow } from '../../../database/read/rows.ts'
import { HistoryNotKept } from '../../../domain/errors.ts'
import type { ResolverContext } from '../../execution/context.ts'
import { requireAtMost } from '../arguments.ts'
import { builder } from '../builder.ts'
import { loadLedgerRow } from '../ledger.ts'
import { NodeInterface, type NodeRow } from './node-interface.ts'
import { loadStrategy } from '../strategy.ts'
import { loadVaultAt } from '../vault.ts'
import { loadPositions, loadPositionsOf } from '../vault-state/position.ts'

/** Returns the row with a global id; null if there is none, also for an invalid format: ids are opaque to clients. */
async function loadNode(context: ResolverContext, id: string): Promise<NodeRow | null> {
  const object = parseGlobalId(id)
  switch (object?.type) {
    case undefined:
      return null
    case 'Vault':
      return (await vaultOfId(context, object)) ?? null
    case 'Strategy':
      return (await loadStrategy(context, object.id, null)) ?? null
    case 'Position': {
      const positions = await positionsOfId(context, object)
      return positions.find((position) => position.id === object.positionId) ?? null
    }
    case 'LedgerRow':
      return (await loadLedgerRow(context, object, null)) ?? null
  }
}

interface VaultId {
  readonly vault: string
  readonly at: number | null
}

/** Returns the vault of an id; undefined also if its state at the moment of the id is not stored. */
async function vaultOfId(context: ResolverContext, { vault, at }: VaultId): Promise<VaultRow | undefined> {
  try {
    return await loadVaultAt(context, vault, at)
  } catch (error) {
    if (error instanceof HistoryNotKept) return undefined
    throw error
  }
}

/** Returns the positions of the vault of an id; current positions take one read, without the vault. */
async function positionsOfId(context: ResolverContext, object: VaultId): Promise<readonly PositionRow[]> {
  if (object.at === null) return (await loadPositions(context, object.vault, null)) ?? []
  const vault = await vaultOfId(context, object)
  return vault === undefined ? [] : loadPositionsOf(vault, null, context)
}

builder.queryFields((t) => ({
  node: t.field({
    type: NodeInterface,
    nullable: true,
    description: 'The object with an id; null where none has it, whatever the id looks like.',
    args: { id: t.arg.id({ required: true, description: 'Identifier of the object, as its field `id` gave it.' }) },
    resolve: (_, { id }, context) => loadNode(context, id),
  }),
  nodes: t.field({
    type: [NodeInterface],
    nullable: { list: false, items: true },
    description: 'The objects with these ids, in their order; null stands for each id that no object has.',
    args: {
      ids: t.arg.idList({
        required: true,
        description: `Identifiers of objects, as their fields \`id\` gave them: at most ${maxIds}.`,
      }),
    },
    resolve: (_, { ids }, context) => requireAtMost('ids', ids, maxIds).map((id) => loadNode(context, id)),
  }),
}))
