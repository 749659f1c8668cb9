/** JSON text, whole or to be put together when the run is over. */
export type OutputText = string | Place | Pieces

/** Makes of a value that a resolver gave its JSON text. */
export type OutputWriter = (value: unknown, run: CompiledRun) => OutputText

/** A field, with what stands before its value: the key that it has in the answer, in quotes and with a colon. */
export interface CompiledField {
  readonly label: string
  readonly resolve: (source: unknown, args: Record<string, unknown>, context: unknown) => unknown
  readonly argsOf: (run: CompiledRun) => Record<string, unknown>
  readonly write: OutputWriter
}

/** What a field has to give, and was null or of another kind. */
export class Unexpected extends Error {
  override readonly name = 'Unexpected'
}

/** The place of a text that isn't there yet. */
class Place {
  #text: OutputText = ''

  fill(text: OutputText): void {
    this.#text = text
  }

  toString(): string {
    return (this.#text = this.#text.toString())
  }
}

/** Text in pieces, some of which come later. */
class Pieces {
  #pieces: readonly OutputText[] | string

  constructor(
    pieces: readonly OutputText[],
    readonly begin: string,
    readonly separator: string,
    readonly end: string,
  ) {
    this.#pieces = pieces
  }

  /** All of it: what stands in many places is put together once. */
  toString(): string {
    if (typeof this.#pieces !== 'string') this.#pieces = joined(this.#pieces, this.begin, this.separator, this.end)
    return this.#pieces
  }
}

/** As one string: the many that it was put together from are garbage then. */
function joined(pieces: readonly OutputText[], begin: string, separator: string, end: string): string {
  return begin + pieces.join(separator) + end
}

/** One execution: what its fields share, and what it waits for. */
export class CompiledRun {
  readonly context: unknown
  readonly variables: Readonly<Record<string, unknown>>
  /** What was written of values, by what wrote it. */
  readonly written = new Map<OutputWriter, Map<unknown, OutputText>>()
  /** The text of the part that was asked for by itself. */
  part: OutputText | null = null
  #pending = 0
  #over: (() => void) | null = null
  #failed: ((error: unknown) => void) | null = null

  constructor(context: unknown, variables: Readonly<Record<string, unknown>>) {
    this.context = context
    this.variables = variables
  }

  /** The place of a text that a promise's value will have. */
  later(promise: Promise<unknown>, write: OutputWriter): Place {
    const place = new Place()
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

  /** Lets go of what it has written: whatever held it from before it began may outlive it for long. */
  forget(): void {
    this.written.clear()
    this.part = null
    this.#over = this.#failed = null
  }

  #take(place: Place, value: unknown, write: OutputWriter): void {
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
export function onceEach(write: OutputWriter): OutputWriter {
  return (value, run) => {
    const written = run.written.get(write) ?? new Map<unknown, OutputText>()
    run.written.set(write, written)
    const known = written.get(value)
    if (known !== undefined) return known
    const text = write(value, run)
    written.set(value, text)
    return text
  }
}

export function objectOf(fields: readonly CompiledField[]): OutputWriter {
  return (source, run) => {
    let text = '{'
    let pieces: OutputText[] | undefined
    for (const { label, resolve, argsOf, write } of fields) {
      text += label
      const value = written(resolve(source, argsOf(run), run.context), write, run)
      if (typeof value === 'string') text += value
      else {
        ;(pieces ??= []).push(text, value)
        text = ''
      }
    }
    if (pieces === undefined) return `${text}}`
    pieces.push(`${text}}`)
    return new Pieces(pieces, '', '', '')
  }
}

/** Writes a value as its own type is written. */
export function byType(
  typeNameOf: (value: unknown) => string,
  writers: ReadonlyMap<string, OutputWriter>,
): OutputWriter {
  return (value, run) => {
    const write = writers.get(typeNameOf(value))
    if (write === undefined) throw new Unexpected()
    return write(value, run)
  }
}

export function listOf(writeItem: OutputWriter): OutputWriter {
  return (value, run) => {
    if (!Array.isArray(value)) throw new Unexpected()
    const items: OutputText[] = []
    let isWhole = true
    for (const item of value as unknown[]) {
      const text = written(item, writeItem, run)
      if (typeof text !== 'string') isWhole = false
      items.push(text)
    }
    return isWhole ? joined(items, '[', ',', ']') : new Pieces(items, '[', ',', ']')
  }
}

function written(value: unknown, write: OutputWriter, run: CompiledRun): OutputText {
  return value instanceof Promise ? run.later(value, write) : write(value, run)
}

export function present(write: OutputWriter): OutputWriter {
  return (value, run) => {
    if (value == null) throw new Unexpected()
    return write(value, run)
  }
}

export function orNull(write: OutputWriter): OutputWriter {
  return (value, run) => (value == null ? 'null' : write(value, run))
}

/** Writes a value as the part that was asked for by itself. */
export function apart(write: OutputWriter): OutputWriter {
  return (value, run) => {
    run.part = write(value, run)
    return 'null'
  }
}
