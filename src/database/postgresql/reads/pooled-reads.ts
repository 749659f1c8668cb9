import type pg from 'pg'
import { throwIfCancelled } from '../../cancellation.ts'
import type { Cancellation } from '../../cancellation.ts'
import type { AnyStatement, StatementReader, Value } from '../../database.ts'
import { Pipeline } from './pipeline.ts'
import type { PipeliningReader } from '../../batching/batch-scheduler.ts'
import { decodeRows } from '../../read/row-codec.ts'

/** Pools of connections for reads. */
export interface ReadPools {
  readonly short: pg.Pool
  /** For long reads. */
  readonly long: pg.Pool
}

/** Returns a reader on the connections of pools. Each read has a separate connection; short reads of a pipeline share one. */
export function pooledReader({ short, long }: ReadPools): Required<PipeliningReader> {
  const pipelineOf = (isLong = false): Pipeline => new Pipeline(isLong ? long : short)
  return {
    ...readerOn(({ isLong }) => pipelineOf(isLong)),
    pipelined: () => {
      const shared = pipelineOf()
      return readerOn(({ isLong = false }) => (isLong ? pipelineOf(isLong) : shared))
    },
  }
}

function readerOn(pipelineOf: (statement: AnyStatement) => Pipeline): StatementReader {
  return {
    async read<Row>(statement: AnyStatement, values: readonly Value[], signal?: Cancellation) {
      throwIfCancelled(signal)
      const { name, text } = statement
      return decodeRows<Row>(statement, await pipelineOf(statement).read({ name, text, values: [...values] }, signal))
    },
  }
}
