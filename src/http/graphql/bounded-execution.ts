import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql'
import { admissionLimits, type QueryLimits } from '../../limits.ts'
import type { AdmissionControl } from '../../graphql/execution/admission-control.ts'
import { executeCompiled } from '../../graphql/execution/compiler/compiler.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import type { InOneMoment } from '../../graphql/execution/snapshot-consistency.ts'
import { checkExtent } from '../../graphql/execution/query-limits.ts'

/** What of this gateway an execution knows. */
export interface Asking {
  readonly making: RequestContext
  /** Is told that the document is parsed and valid: it is admitted to run by what running it costs. */
  readonly onPrepared?: () => void
}

/** A valid document with its variables, measured. */
export interface Measured {
  /** What is over its bound; null where it may run. */
  readonly error: GraphQLError | null
  /** Runs it at once where it is plain, else when it has its turn. */
  readonly run: (args: ExecutionArgs, asking: Asking) => Promise<ExecutionResult>
  /** What an answer tells of it. */
  readonly extensions: { readonly cost: { readonly figure: number; readonly most: number } }
}

export type BoundedExecution = (args: ExecutionArgs) => Measured

export interface ExecutionOptions {
  readonly inOneMoment: InOneMoment
  readonly admission: AdmissionControl
}

/** Lets run what is within bounds. */
export function boundedExecution(bounds: QueryLimits, { inOneMoment, admission }: ExecutionOptions): BoundedExecution {
  return (asked) => {
    const { figures, variables, error } = checkExtent(asked, bounds)
    const { cost } = figures
    return {
      error,
      run: (args, { making, onPrepared }) => {
        onPrepared?.()
        // The context is made when it begins: who has waited for a turn would have an old one.
        const work = (): Promise<ExecutionResult> =>
          inOneMoment(making, (contextValue) => executeCompiled({ ...args, contextValue }, variables))
        const ticket = { cost, sender: making.sender, signal: making.signal }
        return cost > admissionLimits.cheapCost ? admission.expensive(work, ticket) : admission.cheap(work, ticket)
      },
      extensions: { cost: { figure: cost, most: bounds.cost } },
    }
  }
}
