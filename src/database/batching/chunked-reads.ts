import type { Cancellation } from '../cancellation.ts'
import type { Read, Value, Versioned, VersionedReader } from '../database.ts'

/** So many vaults of a read that may have many rows of each are read in a few hundredths of a second. */
const longKeys = 4

/** Whether a read may take long: those that requests share are short. */
export function isLong({ from, sharedBy }: Pick<Read, 'from' | 'sharedBy'>): boolean {
  return from === 'named vaults' && sharedBy === undefined
}

/**
 * Reads what is about many vaults a few at a time, one after the other, so that others come in between. Where a batch of
 * facts was one of those, the rows are of no one version.
 * @param reader asked for a piece
 */
export function chunkedReads(reader: VersionedReader): VersionedReader {
  return {
    async read<Row>(read: Read, values: readonly Value[], signal?: Cancellation) {
      const [keys, ...rest] = values
      const most = read.mostShared ?? (isLong(read) ? longKeys : Infinity)
      if (read.from !== 'named vaults' || !Array.isArray(keys) || keys.length <= most) {
        return reader.read<Row>(read, values, signal)
      }
      const pieces: Versioned<Row>[] = []
      for (let at = 0; at < keys.length; at += most) {
        const piece = [(keys as string[]).slice(at, at + most), ...rest]
        pieces.push(await reader.read<Row>(read, piece, signal))
      }
      const version = pieces[0]?.version ?? null
      const isOne = pieces.every((piece) => piece.version === version)
      return { rows: pieces.flatMap(({ rows }) => rows), version: isOne ? version : null }
    },
  }
}
