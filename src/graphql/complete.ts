/** What one execution's fields share. */
export interface Run {
  readonly context: unknown
  readonly variables: Readonly<Record<string, unknown>>
  /** What was made of values, by what made it. */
  readonly completed: Map<Complete, Map<unknown, unknown>>
}

/** Makes of a value that a resolver gave what stands in the answer, or a promise of it. */
export type Complete = (value: unknown, run: Run) => unknown

/** A field, under the key that its value has in the answer. */
export interface FieldPlan {
  readonly key: string
  readonly resolve: (source: unknown, args: Record<string, unknown>, context: unknown) => unknown
  readonly argsOf: (run: Run) => Record<string, unknown>
  readonly complete: Complete
}

/** What a field has to give, and was null or of another kind. */
export class Unexpected extends Error {
  override readonly name = 'Unexpected'
}

/**
 * Completes the same value once in a run: a strategy that fifty vaults run is one object, and what its resolvers give for
 * it is the same each time.
 */
export function onceEach(complete: Complete): Complete {
  return (value, run) => {
    const completed = run.completed.get(complete) ?? new Map<unknown, unknown>()
    run.completed.set(complete, completed)
    const known = completed.get(value)
    if (known !== undefined) return known
    const made = complete(value, run)
    completed.set(value, made)
    return made
  }
}

export function objectOf(fields: readonly FieldPlan[]): Complete {
  return (source, run) => {
    const object: Record<string, unknown> = {}
    let pending: Promise<unknown>[] | undefined
    try {
      for (const { key, resolve, argsOf, complete } of fields) {
        const value = whenThere(resolve(source, argsOf(run), run.context), complete, run)
        // A promise holds the place of its value, so that fields stand in the order they were asked in.
        object[key] = value
        if (value instanceof Promise) (pending ??= []).push(placed(object, key, value))
      }
    } catch (error) {
      throw abandoned(pending, error)
    }
    return pending === undefined ? object : allOf(pending).then(() => object)
  }
}

function placed(object: Record<string, unknown>, key: string, value: Promise<unknown>): Promise<unknown> {
  return value.then((there) => (object[key] = there))
}

export function listOf(completeItem: Complete): Complete {
  return (value, run) => {
    if (!Array.isArray(value)) throw new Unexpected()
    const items: unknown[] = []
    let pending: Promise<unknown>[] | undefined
    try {
      for (const item of value as unknown[]) {
        const completed = whenThere(item, completeItem, run)
        items.push(completed)
        if (completed instanceof Promise) (pending ??= []).push(completed)
      }
    } catch (error) {
      throw abandoned(pending, error)
    }
    return pending === undefined ? items : Promise.all(items)
  }
}

function whenThere(value: unknown, complete: Complete, run: Run): unknown {
  return value instanceof Promise ? value.then((there) => complete(there, run)) : complete(value, run)
}

/** Nobody waits for these any more: what they fail with is told by the one that failed first. */
function abandoned(pending: readonly Promise<unknown>[] | undefined, error: unknown): unknown {
  for (const promise of pending ?? []) promise.catch(() => undefined)
  return error
}

function allOf(pending: Promise<unknown>[]): Promise<unknown> {
  return pending.length === 1 ? (pending[0] as Promise<unknown>) : Promise.all(pending)
}

export function present(complete: Complete): Complete {
  return (value, run) => {
    if (value == null) throw new Unexpected()
    return complete(value, run)
  }
}

export function orNull(complete: Complete): Complete {
  return (value, run) => (value == null ? null : complete(value, run))
}

export function given(serialized: unknown): unknown {
  if (serialized == null) throw new Unexpected()
  return serialized
}
