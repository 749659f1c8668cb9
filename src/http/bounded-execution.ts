import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql'
import { type QueryBounds, turnBounds } from '../bounds.ts'
import { executeCompiled } from '../graphql/compiled.ts'
import type { Making } from '../graphql/context.ts'
import { checkExtent } from '../graphql/limits.ts'
import type { Turns } from '../graphql/turns.ts'

/** What of this gateway an execution knows. */
export interface Asking {
  readonly making: Making
  /** Whether the request has its turn already, for its document was never asked before. */
  readonly hasTurn: boolean
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

/** Lets run what is within bounds. */
export function boundedExecution(bounds: QueryBounds, turns: Turns): BoundedExecution {
  return ({ schema, document, operationName, variableValues }) => {
    const { figures, error } = checkExtent({ schema, document, operationName, variables: variableValues ?? {} }, bounds)
    const { cost } = figures
    return {
      error,
      run: (args, { making, hasTurn }) => {
        const work = (): ReturnType<typeof executeCompiled> => executeCompiled(args)
        const isDear = cost > turnBounds.plainCost && !hasTurn
        return isDear ? turns.dear(cost, making.signal, work) : turns.plain(work)
      },
      extensions: { cost: { figure: cost, most: bounds.cost } },
    }
  }
}
