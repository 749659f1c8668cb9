import { Canceller } from '../../database/cancellation.ts'
import { AdmissionQueueFull } from '../../graphql/execution/admission/admission-control.ts'
import type { Executor } from '../../graphql/execution/executor.ts'
import type { FixedDocument } from '../../graphql/execution/fixed-document.ts'
import { probeMilliseconds } from '../../limits.ts'
import { memoizeBriefly } from '../async/memoize-briefly.ts'
import { resultWithin } from '../../database/cancellation.ts'
import { type ReportError, processContext } from '../process-context.ts'

const mostValuable: FixedDocument = {
  text: '{ vaults(first: 1) { nodes { address } } }',
  bodyPath: ['vaults', 'nodes'],
  enumTextOf: (name) => name,
}

/** Seconds that a page may wait for an address; without one it is still useful. */
const addressSeconds = 1

export interface ExampleAddressOptions {
  readonly executor: Executor
  /** Whether data needs no API key: only then is an address looked up and shown. */
  readonly isOpen: boolean
  readonly report: ReportError
}

/**
 * Creates the lookup of the most valuable vault, for pages with examples: at most once a second for all requests.
 * @returns a function that resolves with its address; null if there is none, or the database fails
 */
export function createExampleAddress({
  executor,
  isOpen,
  report,
}: ExampleAddressOptions): () => Promise<string | null> {
  if (!isOpen) return () => Promise.resolve(null)
  const context = processContext('example-address', report)
  const find = async (signal: Canceller): Promise<string | null> => {
    const { body } = await executor.runFixed(mostValuable, {}, { ...context, signal })
    const [vault] = JSON.parse(body ?? '[]') as { address: string }[]
    return vault?.address ?? null
  }
  const lookUp = async (): Promise<string | null> => {
    const signal = new Canceller()
    try {
      return await resultWithin(addressSeconds * 1000, find(signal))
    } catch (error) {
      if (!(error instanceof AdmissionQueueFull)) context.report(error)
      return null
    } finally {
      signal.abort()
    }
  }
  return memoizeBriefly(lookUp, probeMilliseconds)
}
