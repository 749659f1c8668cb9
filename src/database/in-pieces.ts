import type { Cancellation } from './cancellation.ts'
import type { Read, Reader, Value } from './database.ts'

/** So many vaults of a read that may have many rows of each are read in a few hundredths of a second. */
const longKeys = 4

/** Whether a read may take long: those that requests share are short. */
export function isLong({ from, sharedBy }: Pick<Read, 'from' | 'sharedBy'>): boolean {
  return from === 'named vaults' && sharedBy === undefined
}

/**
 * Reads what is about many vaults a few at a time, one after the other, so that others come in between.
 * @param reader asked for a piece
 */
export function inPieces(reader: Reader): Reader {
  return {
    async query<Row>(read: Read, values: readonly Value[], signal?: Cancellation) {
      const [keys, ...rest] = values
      const most = read.mostShared ?? (isLong(read) ? longKeys : Infinity)
      if (read.from !== 'named vaults' || !Array.isArray(keys) || keys.length <= most) {
        return reader.query<Row>(read, values, signal)
      }
      let rows: Row[] = []
      for (let at = 0; at < keys.length; at += most) {
        const piece = [(keys as string[]).slice(at, at + most), ...rest]
        rows = rows.concat(await reader.query<Row>(read, piece, signal))
      }
      return rows
    },
  }
}
