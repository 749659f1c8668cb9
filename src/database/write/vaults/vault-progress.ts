import type { Database } from '../../database.ts'

/** How far the facts of a vault have been applied. */
export interface VaultProgress {
  readonly address: string
  /** Time of its newest fact, in Unix seconds. */
  readonly ts: number
  /** Whether a mark of that second has been applied. */
  readonly isMarked: boolean
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
  return vaults.map(({ id, address, updatedAt }) => ({ address, ts: Number(updatedAt), isMarked: marked.has(id) }))
}
