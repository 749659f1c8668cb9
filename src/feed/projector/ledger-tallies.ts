import type { AddedTallies } from '../../database/write/ledger.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import { afterRow, type EventType, type LedgerTally, type NewestTallies } from '../../domain/ledger.ts'

/** Counts the rows that a batch adds to ledgers. */
export class LedgerTallies {
  readonly #kept = new Map<string, LedgerTally[]>()
  readonly #now = new Map<string, { readonly vaultId: number; readonly tallies: NewestTallies }>()

  /** @param stored the newest stored tallies by vault */
  constructor(readonly stored: ReadonlyMap<string, NewestTallies>) {}

  /** Counts a row; the rows of a vault come in order of time. */
  add({ id, address: vault }: Pick<VaultRecord, 'id' | 'address'>, tsSeconds: number, type: EventType): void {
    const before = this.#now.get(vault)?.tallies ?? this.stored.get(vault) ?? { kept: null, newest: null }
    const after = afterRow(before, tsSeconds, type)
    this.#now.set(vault, { vaultId: id, tallies: after })
    if (after.kept === null || after.kept === before.kept) return
    const kept = this.#kept.get(vault) ?? []
    this.#kept.set(vault, kept)
    kept.push(after.kept)
  }

  /** Returns the tallies that replace the newest stored ones. */
  added(): AddedTallies[] {
    return Array.from(
      this.#now,
      ([
        vault,
        {
          vaultId,
          tallies: { newest },
        },
      ]) => ({
        vaultId,
        replacedTs: this.stored.get(vault)?.newest?.ts ?? null,
        tallies: [...(this.#kept.get(vault) ?? []), ...(newest === null ? [] : [newest])],
      }),
    )
  }
}
