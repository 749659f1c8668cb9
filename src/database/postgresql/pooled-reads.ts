import type pg from 'pg'
import { throwIfCancelled } from '../cancellation.ts'
import type { Cancellation } from '../cancellation.ts'
import type { Read, Statement, Value, VersionedReader } from '../database.ts'
import { Pipeline } from './pipeline.ts'
import type { Pipelining } from '../batching/batch-scheduler.ts'
import { decodeRows } from '../decode-rows.ts'

export interface ReadPools {
  readonly short: pg.Pool
  /** For reads that are unbounded. */
  readonly unbounded: pg.Pool
  /** Tells the server what to stop. */
  readonly control: pg.Pool
}

/** Reads by the connections of pools, each on a connection of its own or all of a pipeline on one. */
export function pooledReader({ short, unbounded, control }: ReadPools): VersionedReader & Pipelining {
  const pipeline = (): Pipeline => new Pipeline(short, control)
  return {
    ...readerBy(({ isUnbounded }) => new Pipeline(isUnbounded === true ? unbounded : short, control)),
    pipelined: () => {
      const all = pipeline()
      return readerBy(() => all)
    },
  }
}

function readerBy(pipelineOf: (statement: Partial<Read>) => Pipeline): VersionedReader {
  return {
    async read<Row>(statement: Statement, values: readonly Value[], signal?: Cancellation) {
      throwIfCancelled(signal)
      const { name, text } = statement
      return decodeRows<Row>(statement, await pipelineOf(statement).read({ name, text, values: [...values] }, signal))
    },
  }
}
