import { setImmediate as nextIteration } from 'node:timers/promises'
import { OperationCache } from '../../graphql/execution/operation-cache.ts'
import { schema } from '../../graphql/schema/schema.ts'
import type { KnownOperations } from '../../http/graphql/persisted-operations.ts'
import type { QueryLimits } from '../../limits.ts'
import type { Log } from '../log.ts'

/** Maximum number of refused operations that are logged one by one. */
const maxLoggedOperations = 20

/**
 * Logs a warning for each operation that is refused whatever its variables are, as one for another version of the schema. Prepares
 * one in each iteration of the event loop, since a manifest may have thousands.
 */
export async function logRefusedOperations(
  operations: KnownOperations,
  limits: QueryLimits,
  { log, signal }: { readonly log: Pick<Log, 'warn'>; readonly signal: AbortSignal },
): Promise<void> {
  const cache = new OperationCache(schema, limits)
  let refused = 0
  for (const [id, text] of operations) {
    await nextIteration()
    if (signal.aborted) return
    const { errors, operations: prepared } = cache.prepare(text, 'manifest')
    const error = errors[0] ?? prepared.find(({ sizeError }) => sizeError !== null)?.sizeError
    if (error == null) continue
    refused++
    if (refused <= maxLoggedOperations) {
      log.warn(`Clients will be refused an operation of PERSISTED_OPERATIONS: ${error.message}`, { operationId: id })
    }
  }
  const others = refused - maxLoggedOperations
  if (others > 0) log.warn('Clients will be refused more operations of PERSISTED_OPERATIONS', { others })
}
