import type { LedgerKey } from '../../../domain/ledger.ts'

/** Sorts before every row in "newest first": no block or log index is greater, and no hash is as long. */
export const newestKey: LedgerKey = {
  block: Number.MAX_SAFE_INTEGER,
  logIndex: 2_147_483_647,
  txHash: `0x${'ff'.repeat(33)}`,
}

/**
 * Returns the SQL of the sort key of a ledger row, in the form of the expression that the indexes contain: 42 bits of the block
 * and 21 of the log index. Rows of a block with greater log indexes share its last key.
 */
export const placeOf = (block: string, logIndex: string): string =>
  `(least(${block}, ${2 ** 42 - 1}) * ${2 ** 21} + least(${logIndex}, ${2 ** 21 - 1}))`
export const place = placeOf('block', 'log_index')
/** The sort keys from here on are those of the last block and all after it, which no chain has: they are not in order. */
export const unordered = (2n ** 42n - 1n) * 2n ** 21n
