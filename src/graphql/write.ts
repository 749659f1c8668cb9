/** JSON text, or the place of one that comes later. */
export type Text = string | Later

/** Makes of a value that a resolver gave its JSON text. */
export type Write = (value: unknown, run: Run) => Text

/** A field, with what stands before its value: the key that it has in the answer, in quotes and with a colon. */
export interface FieldPlan {
  readonly label: string
  readonly resolve: (source: unknown, args: Record<string, unknown>, context: unknown) => unknown
  readonly argsOf: (run: Run) => Record<string, unknown>
  readonly write: Write
}

/** What a field has to give, and was null or of another kind. */
export class Unexpected extends Error {
  override readonly name = 'Unexpected'
}

/** Text in pieces, of which some may be missing until the run is over. */
class Later {
  #pieces: Text[]

  constructor(pieces: Text[]) {
    this.#pieces = pieces
  }

  /** Puts in what it has waited for. */
  fill(text: Text): void {
    this.#pieces = [text]
  }

  /** All of it: what stands in many places is put together once. */
  toString(): string {
    let text = ''
    for (const piece of this.#pieces) text += piece.toString()
    this.#pieces = [text]
    return text
  }
}

/** One execution: what its fields share, and what it waits for. */
export class Run {
  readonly context: unknown
  readonly variables: Readonly<Record<string, unknown>>
  /** What was written of values, by what wrote it. */
  readonly written = new Map<Write, Map<unknown, Text>>()
  /** The text of the part that was asked for by itself. */
  part: Text | null = null
  #pending = 0
  #over: (() => void) | null = null
  #failed: ((error: unknown) => void) | null = null

  constructor(context: unknown, variables: Readonly<Record<string, unknown>>) {
    this.context = context
    this.variables = variables
  }

  /** The place of a text that a promise's value will have. */
  later(promise: Promise<unknown>, write: Write): Later {
    const place = new Later([])
    this.#pending++
    promise.then(
      (value) => this.#take(place, value, write),
      (error: unknown) => this.#failed?.(error),
    )
    return place
  }

  /** Is there when nothing is waited for any more; fails with the first failure, and then waits for nothing. */
  over(): Promise<void> | undefined {
    if (this.#pending === 0) return undefined
    return new Promise((resolve, reject) => {
      this.#over = resolve
      this.#failed = reject
    })
  }

  #take(place: Later, value: unknown, write: Write): void {
    try {
      place.fill(write(value, this))
      if (--this.#pending === 0) this.#over?.()
    } catch (error) {
      this.#failed?.(error)
    }
  }
}

/**
 * Writes the same value once in a run: a strategy that fifty vaults run is one object, and what its resolvers give for it
 * is the same each time.
 */
export function onceEach(write: Write): Write {
  return (value, run) => {
    const written = run.written.get(write) ?? new Map<unknown, Text>()
    run.written.set(write, written)
    const known = written.get(value)
    if (known !== undefined) return known
    const text = write(value, run)
    written.set(value, text)
    return text
  }
}

export function objectOf(fields: readonly FieldPlan[]): Write {
  return (source, run) => {
    let text = '{'
    let pieces: Text[] | undefined
    for (const { label, resolve, argsOf, write } of fields) {
      text += label
      const value = written(resolve(source, argsOf(run), run.context), write, run)
      if (typeof value === 'string') text += value
      else {
        ;(pieces ??= []).push(text, value)
        text = ''
      }
    }
    return closed(pieces, text, '}')
  }
}

export function listOf(writeItem: Write): Write {
  return (value, run) => {
    if (!Array.isArray(value)) throw new Unexpected()
    let text = '['
    let pieces: Text[] | undefined
    for (let index = 0; index < value.length; index++) {
      if (index > 0) text += ','
      const item = written(value[index], writeItem, run)
      if (typeof item === 'string') text += item
      else {
        ;(pieces ??= []).push(text, item)
        text = ''
      }
    }
    return closed(pieces, text, ']')
  }
}

function written(value: unknown, write: Write, run: Run): Text {
  return value instanceof Promise ? run.later(value, write) : write(value, run)
}

function closed(pieces: Text[] | undefined, text: string, end: string): Text {
  if (pieces === undefined) return text + end
  pieces.push(text + end)
  return new Later(pieces)
}

export function present(write: Write): Write {
  return (value, run) => {
    if (value == null) throw new Unexpected()
    return write(value, run)
  }
}

export function orNull(write: Write): Write {
  return (value, run) => (value == null ? 'null' : write(value, run))
}

/** Writes a value as the part that was asked for by itself. */
export function apart(write: Write): Write {
  return (value, run) => {
    run.part = write(value, run)
    return 'null'
  }
}
