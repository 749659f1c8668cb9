import type { GraphQLError } from 'graphql'
import { admissionLimits, preparationCosts, type QueryLimits } from '../../limits.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import type { RequestContext } from './context.ts'
import { unknownOperation } from './errors.ts'
import { nullError } from './null-variables.ts'
import type { PreparedDocument } from './operation-cache.ts'
import type { CoercedVariables, OperationParams, PreparedOperation, RunnableOperation } from './prepared-operation.ts'
import { checkVariables, tooExpensive } from './query-limits.ts'

/** A client's operation that may run, or the errors for which it is refused. */
type CheckedOperation =
  (RunnableOperation & { readonly errors?: undefined }) | { readonly errors: readonly GraphQLError[] }

/** Checks clients' operations before they run. The executor refuses mutations, and subscriptions without an event. */
export class OperationChecks {
  readonly #limits: QueryLimits
  readonly #admission: Pick<AdmissionControl, 'prepare'>

  constructor(limits: QueryLimits, admission: Pick<AdmissionControl, 'prepare'>) {
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
    const { coerced, error } = await this.#coerce(operation, variables, extent.values, requestContext)
    if (error !== undefined) return { errors: [error] }
    const nullRefusal = nullError(operation.nullableVariables, coerced)
    if (nullRefusal !== null) return { errors: [nullRefusal] }
    const cost = operation.costOf(coerced)
    if (cost.units > maxCost) return { errors: [tooExpensive(cost, { ...this.#limits, cost: maxCost })] }
    return { operation, coerced, cost }
  }

  /** Coerces variables: many of them only after admission, because each may take a hash. */
  #coerce(
    operation: PreparedOperation,
    variables: OperationParams['variables'],
    values: number,
    { sender, signal }: RequestContext,
  ): CoercedVariables | Promise<CoercedVariables> {
    const cost = values * preparationCosts.variableValue
    if (cost <= admissionLimits.shortPreparation) return operation.coerce(variables)
    return this.#admission.prepare(() => operation.coerce(variables), { cost, sender, signal })
  }
}
