import type { Cancellation } from '../cancellation.ts'
import type { Read, Value, Versioned, VersionedReader } from '../database.ts'

/** Tells whether a read may take long: reads that requests share are short. */
export function isLong({ batching }: Pick<Read, 'batching'>): boolean {
  return batching.kind === 'chunked'
}

/**
 * Splits reads about many vaults into chunks that run one after the other, so that other reads run in between.
 * @param reader runs a chunk
 * @returns a reader whose rows have no version where a batch of facts was committed between two chunks
 */
export function chunkedReads(reader: VersionedReader): VersionedReader {
  return {
    async read<Row>(read: Read, values: readonly Value[], signal?: Cancellation) {
      const [keys, ...rest] = values
      const size = chunkSize(read)
      if (!Array.isArray(keys) || keys.length <= size) return reader.read<Row>(read, values, signal)
      const chunks: Versioned<Row>[] = []
      for (let at = 0; at < keys.length; at += size) {
        const chunk = [(keys as string[]).slice(at, at + size), ...rest]
        chunks.push(await reader.read<Row>(read, chunk, signal))
      }
      const version = chunks[0]?.version ?? null
      const isOneSnapshot = chunks.every((chunk) => chunk.version === version)
      return { rows: chunks.flatMap(({ rows }) => rows), version: isOneSnapshot ? version : null }
    },
  }
}

/** Returns the maximum number of keys in a chunk. */
function chunkSize({ source, batching }: Read): number {
  if (source !== 'named vaults') return Infinity
  if (batching.kind === 'chunked') return batching.maxKeys
  return batching.kind === 'keyed' ? (batching.maxKeys ?? Infinity) : Infinity
}
