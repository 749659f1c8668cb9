import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql'
import { type QueryBounds, turnBounds } from '../bounds.ts'
import { executeCompiled } from '../graphql/compiled.ts'
import { type Context, type ContextOf, forget, type Making } from '../graphql/context.ts'
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

export interface ExecutionOptions {
  readonly contextOf: ContextOf
  readonly turns: Turns
}

/** Lets run what is within bounds. */
export function boundedExecution(bounds: QueryBounds, { contextOf, turns }: ExecutionOptions): BoundedExecution {
  return ({ schema, document, operationName, variableValues }) => {
    const { figures, error } = checkExtent({ schema, document, operationName, variables: variableValues ?? {} }, bounds)
    const { cost } = figures
    return {
      error,
      run: (args, { making, hasTurn }) => {
        const work = (): Promise<ExecutionResult> => inContext(contextOf(making), args)
        const costly = { cost: hasTurn ? 0 : cost, signal: making.signal }
        return costly.cost > turnBounds.plainCost ? turns.dear(work, costly) : turns.plain(work, costly)
      },
      extensions: { cost: { figure: cost, most: bounds.cost } },
    }
  }
}

/** In a context that is made when it begins: who has waited for a turn would have an old one. */
async function inContext(contextValue: Context, args: ExecutionArgs): Promise<ExecutionResult> {
  try {
    return await executeCompiled({ ...args, contextValue })
  } finally {
    forget(contextValue)
  }
}
