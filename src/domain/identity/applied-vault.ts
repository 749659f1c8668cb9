/** How far the facts of a vault are applied in a database: a producer of facts need not make those again. */
export interface AppliedVault {
  readonly address: string
  /** Time of its newest fact, in Unix seconds. */
  readonly ts: number
  /** Whether a mark of that second is applied, which is the last fact of a second. */
  readonly isMarked: boolean
  /** The ledger's rows of that second, where no mark of it is applied. */
  readonly events: readonly AppliedEvent[]
}

/** Identity of a row of a vault's ledger. */
export interface AppliedEvent {
  readonly txHash: string
  readonly logIndex: number
}

/** Reads which facts of vaults are applied in a database; vaults without facts are left out. */
export type ReadAppliedVaults = (addresses: readonly string[]) => Promise<readonly AppliedVault[]>
