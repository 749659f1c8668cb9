import type { Database } from '../../database.ts'

/** How far the facts of a vault have been applied. */
export interface VaultProgress {
  readonly address: string
  /** Time of its newest fact, in Unix seconds. */
  readonly ts: number
  /** Whether a mark of that second has been applied. */
  readonly isMarked: boolean
  /** The ledger's rows of that second, where no mark of it has been applied. */
  readonly events: readonly AppliedEvent[]
}

/** Identity of a row of a vault's ledger. */
export interface AppliedEvent {
  readonly txHash: string
  readonly logIndex: number
}

/** Reads how far vaults have been applied; those without facts are left out. */
export async function readVaultProgress(
  { prisma }: Pick<Database, 'prisma'>,
  addresses: readonly string[],
): Promise<VaultProgress[]> {
  const vaults = await prisma.vault.findMany({
    where: { address: { in: [...addresses] } },
    select: { id: true, address: true, updatedAt: true },
  })
  const marks = await prisma.equityPoint.findMany({
    where: { OR: vaults.map(({ id, updatedAt }) => ({ vaultId: id, ts: updatedAt })) },
    select: { vaultId: true, markDigest: true },
  })
  const marked = new Set(marks.flatMap(({ vaultId, markDigest }) => (markDigest === null ? [] : [vaultId])))
  const waiting = vaults.filter(({ id }) => !marked.has(id))
  const rows = await prisma.ledgerRow.findMany({
    where: { OR: waiting.map(({ id, updatedAt }) => ({ vaultId: id, ts: updatedAt })) },
    select: { vaultId: true, txHash: true, logIndex: true },
  })
  return vaults.map(({ id, address, updatedAt }) => ({
    address,
    ts: Number(updatedAt),
    isMarked: marked.has(id),
    events: rows
      .filter(({ vaultId }) => vaultId === id)
      .map(({ txHash, logIndex }) => ({ txHash: `0x${Buffer.from(txHash).toString('hex')}`, logIndex })),
  }))
}
