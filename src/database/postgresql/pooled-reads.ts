import type pg from 'pg'
import { throwIfCancelled } from '../cancellation.ts'
import type { Cancellation } from '../cancellation.ts'
import type { AnyStatement, StatementReader, Value } from '../database.ts'
import { Pipeline } from './pipeline.ts'
import type { PipelineSource } from '../batching/batch-scheduler.ts'
import { decodeRows } from '../decode-rows.ts'

/** Pools of connections for reads. */
export interface ReadPools {
  readonly short: pg.Pool
  /** For unbounded reads. */
  readonly unbounded: pg.Pool
  /** For cancel requests. */
  readonly control: pg.Pool
}

/** Returns a reader on the connections of pools. Each read has its own connection; those of one pipeline share one. */
export function pooledReader({ short, unbounded, control }: ReadPools): StatementReader & PipelineSource {
  const pipeline = (): Pipeline => new Pipeline(short, control)
  return {
    ...readerOn(({ isUnbounded }) => new Pipeline(isUnbounded === true ? unbounded : short, control)),
    pipelined: () => {
      const all = pipeline()
      return readerOn(() => all)
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
