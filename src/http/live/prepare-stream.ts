import { Canceller } from '../../database/cancellation.ts'
import { type AdmissionControl, AdmissionQueueFull } from '../../graphql/execution/admission/admission-control.ts'
import type { Problem } from '../../rest/problem.ts'
import type { Exchange } from '../middleware.ts'
import { overloaded } from '../refuse.ts'

export type AdmitPreparation = Pick<AdmissionControl, 'runPreparation'>

/**
 * Runs work that takes CPU time before a stream can begin, under admission control.
 * @param cost in units of preparation cost
 * @returns the result, or a problem if too much waits, or the client has left meanwhile
 */
export async function prepareStream<Result>(
  admission: AdmitPreparation,
  { sender, onDisconnect }: Pick<Exchange, 'sender' | 'onDisconnect'>,
  cost: number,
  work: () => Result,
): Promise<Result | Problem> {
  const signal = new Canceller()
  onDisconnect(() => signal.abort())
  try {
    return await admission.runPreparation(work, { cost, sender, signal })
  } catch (error) {
    if (error instanceof AdmissionQueueFull || signal.aborted) return overloaded()
    throw error
  }
}
