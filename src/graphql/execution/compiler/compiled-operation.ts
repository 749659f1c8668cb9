import { JsonText } from './json-text.ts'

/** An operation whose fields, arguments and types are resolved. */
export class CompiledOperation {
  /**
   * @param fields number of its fields
   * @param writer writes the data
   */
  constructor(
    readonly fields: number,
    readonly writer: OutputWriter,
  ) {}

  /**
   * Writes the data, with null in place of the body. Rejects at the first failure; graphql-js then produces the
   * response.
   * @param maxCharacters maximum length of the data
   * @throws {TooLong} when it is longer
   */
  async write(
    rootValue: unknown,
    context: unknown,
    variables: CompiledRun['variables'],
    maxCharacters: number,
  ): Promise<JsonText> {
    const run = new CompiledRun(context, variables, maxCharacters)
    try {
      const text = this.writer(rootValue, run)
      await run.settled()
      const characters = text.length + (run.body?.length ?? 0)
      if (characters > maxCharacters) throw new TooLong(characters)
      return new JsonText(text.toString(), run.body?.toString() ?? null)
    } finally {
      run.end()
    }
  }
}

/** JSON text, complete or assembled at the end of the run. */
export type OutputText = string | Pieces

/** Writes the JSON text of a resolved value. */
export type OutputWriter = (value: unknown, run: CompiledRun) => OutputText

/** The text of a response exceeds its limit. */
export class TooLong extends Error {
  override readonly name = 'TooLong'

  /** @param characters length of the text when the excess was detected */
  constructor(readonly characters: number) {
    super()
  }
}

/** Text in pieces, some of which are written later in the run. */
export class Pieces {
  #text: string | null = null
  #length: number | null = null

  constructor(
    public pieces: OutputText[],
    readonly begin: string,
    readonly separator: string,
    readonly end: string,
  ) {}

  /** Length of the whole text; valid when all pieces are written. */
  get length(): number {
    if (this.#length === null) {
      const separators = this.separator.length * Math.max(0, this.pieces.length - 1)
      this.#length = this.begin.length + this.end.length + separators + totalLength(this.pieces)
    }
    return this.#length
  }

  /** Returns the whole text. It is assembled once, even if it occurs repeatedly, and then releases its pieces. */
  toString(): string {
    if (this.#text === null) {
      this.#text = this.begin + this.pieces.join(this.separator) + this.end
      this.pieces = []
    }
    return this.#text
  }
}

/** Returns the length of all texts together. */
export function totalLength(texts: readonly OutputText[]): number {
  let total = 0
  for (const { length } of texts) total += length
  return total
}

/** The state of one run, which its writers share: context, variables, texts written so far and pending promises. */
export class CompiledRun {
  /** Texts written in this run, by writer and value. */
  readonly written = new Map<OutputWriter, Map<unknown, OutputText>>()
  /** Arguments with variables, by field. */
  readonly arguments = new Map<object, Record<string, unknown>>()
  /** Text of the body. */
  body: OutputText | null = null
  /** Whether it has succeeded or failed: nothing more is to be written. */
  isOver = false
  #pending = 0
  #counted = 0
  #settled: (() => void) | null = null
  #failed: ((error: unknown) => void) | null = null

  constructor(
    readonly context: unknown,
    readonly variables: Readonly<Record<string, unknown>>,
    readonly maxCharacters: number,
  ) {}

  /**
   * Counts the length of items of lists. Items of nested lists count once per level: an upper estimate of the response's length.
   * @throws {TooLong} if all together exceed the limit of the response
   */
  count(characters: number): void {
    this.#counted += characters
    if (this.#counted > this.maxCharacters) throw new TooLong(this.#counted)
  }

  /** Inserts a piece, which is written when its promise resolves. */
  insertWhenResolved(promise: Promise<unknown>, write: OutputWriter, pieces: OutputText[]): void {
    const place = pieces.push('') - 1
    this.#pending++
    promise
      .then((value) => {
        pieces[place] = write(value, this)
        if (--this.#pending === 0) this.#settled?.()
      })
      .catch((error: unknown) => this.#failed?.(error))
  }

  /** Waits for work that completes pieces by itself. */
  waitFor(work: Promise<void>): void {
    this.#pending++
    work
      .then(() => {
        if (--this.#pending === 0) this.#settled?.()
      })
      .catch((error: unknown) => this.#failed?.(error))
  }

  /** Ends the run, and gives up its texts: references to it may outlive it. */
  end(): void {
    this.isOver = true
    this.written.clear()
    this.arguments.clear()
    this.body = null
  }

  /** Resolves when no promise is pending; rejects with the first failure without waiting for the others. */
  settled(): Promise<void> | null {
    if (this.#pending === 0) return null
    return new Promise((resolve, reject) => {
      this.#settled = resolve
      this.#failed = reject
    })
  }
}
