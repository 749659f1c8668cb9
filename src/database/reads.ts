import type pg from 'pg'
import { throwIfCancelled } from './cancelled.ts'
import type { Cancellation } from './cancellation.ts'
import type { Database, Statement, Value } from './database.ts'
import { Pipeline } from './pipeline.ts'
import type { Pipelining } from './shared-reads.ts'
import { unpacked } from './unpacked.ts'

/**
 * Reads by the connections of a pool, each of a connection of its own or all of a pipeline of one.
 * @param control a pool that tells the server what to stop
 */
export function pooledReader(pool: pg.Pool, control: pg.Pool): Pick<Database, 'query'> & Pipelining {
  const pipeline = (): Pipeline => new Pipeline(pool, control)
  return {
    ...readerBy(pipeline),
    pipelined: () => {
      const all = pipeline()
      return readerBy(() => all)
    },
  }
}

function readerBy(pipelineOf: () => Pipeline): Pick<Database, 'query'> {
  return {
    async query<Row>(statement: Statement, values: readonly Value[], signal?: Cancellation) {
      throwIfCancelled(signal)
      const { name, text } = statement
      return unpacked<Row>(statement, await pipelineOf().read({ name, text, values: [...values] }, signal))
    },
  }
}
