import type { GraphQLError } from 'graphql'
import { admissionLimits, preparationCosts, type QueryLimits } from '../../limits.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import type { RequestContext } from './context.ts'
import { unknownOperation } from './errors.ts'
import { nullError } from './null-variables.ts'
import type { PreparedDocument } from './operation-cache.ts'
import type { OperationParams, PreparedOperation, RunnableOperation } from './prepared-operation.ts'
import { checkVariables, tooExpensive } from './query-limits.ts'

/** A client's operation that may run, or the errors for which it is refused. */
type CheckedOperation =
  (RunnableOperation & { readonly errors?: undefined }) | { readonly errors: readonly GraphQLError[] }

/** Checks clients' operations before they run. The executor refuses mutations, and subscriptions without an event. */
export class OperationChecks {
  readonly #limits: QueryLimits
  readonly #admission: Pick<AdmissionControl, 'runPreparation'>

  constructor(limits: QueryLimits, admission: Pick<AdmissionControl, 'runPreparation'>) {
    this.#limits = limits
    this.#admission = admission
  }

  /**
   * Checks name, size, variables, nulls and cost of an operation.
   * @throws {AdmissionQueueFull} if too many other operations wait for preparation
   */
  async check(
    prepared: PreparedDocument,
    { operationName, variables }: OperationParams,
    requestContext: RequestContext,
    maxCost: number,
  ): Promise<CheckedOperation> {
    const operation = prepared.select(operationName)
    if (operation === undefined) return { errors: [unknownOperation(operationName)] }
    const extent = checkVariables(variables, this.#limits)
    const sizeError = operation.sizeError ?? extent.error
    if (sizeError !== null) return { errors: [sizeError] }
    const { coerced, cost, error } = await this.#price(operation, variables, extent.values, requestContext)
    if (error !== undefined) return { errors: [error] }
    if (cost.units > maxCost) return { errors: [tooExpensive(cost, { ...this.#limits, cost: maxCost })] }
    return { operation, coerced, cost }
  }

  /** Coerces the variables, and prices the operation with them: many of them only after admission, because each may take a hash. */
  #price(
    operation: PreparedOperation,
    variables: OperationParams['variables'],
    values: number,
    { sender, signal }: RequestContext,
  ): PricedVariables | Promise<PricedVariables> {
    const cost = values * preparationCosts.variableValue
    if (cost <= admissionLimits.shortPreparation) return priced(operation, variables)
    return this.#admission.runPreparation(() => priced(operation, variables), { cost, sender, signal })
  }
}

/** Coerced variables with the cost of the operation, or the error of the first one that is refused. */
type PricedVariables =
  | (Pick<RunnableOperation, 'coerced' | 'cost'> & { readonly error?: undefined })
  | { readonly coerced?: undefined; readonly cost?: undefined; readonly error: GraphQLError }

function priced(operation: PreparedOperation, variables: OperationParams['variables']): PricedVariables {
  const { coerced, error } = operation.coerce(variables)
  if (error !== undefined) return { error }
  const nullRefusal = nullError(operation.nullableVariables, coerced)
  return nullRefusal === null ? { coerced, cost: operation.costOf(coerced) } : { error: nullRefusal }
}
