import type { Read, Snapshots, VersionedReader } from '../../database/database.ts'
import { type Context, contextOn, type ContextOptions, type RequestContext } from './context.ts'

/** What answers are read from. */
export type Answering = VersionedReader & Snapshots

export interface OneMomentOptions extends ContextOptions {
  /** Is told of each answer that is made again, since its reads were of different versions of the data. */
  readonly onRepeat?: () => void
}

/**
 * Runs an operation in a context of its own, so that all that it reads is of one committed state of the database. It may
 * run twice; the result of the last run counts, and its errors.
 */
export type InOneMoment = <Result>(
  making: RequestContext,
  run: (context: Context) => Promise<Result>,
) => Promise<Result>

/**
 * The first run reads by statements that each see the database as it is when they begin, and tell its version; statements
 * that requests share do too. Where all told the same version, no batch of facts was committed between them. Where they
 * did not, the operation runs again in one snapshot. That costs a connection, so it is not the first choice.
 */
export function inOneMomentOn(database: Answering, { onRepeat, ...options }: OneMomentOptions = {}): InOneMoment {
  async function runOn<Result>(
    reader: VersionedReader,
    making: RequestContext,
    run: (context: Context) => Promise<Result>,
  ): Promise<{ readonly moment: Moment; readonly result: () => Result }> {
    const moment = new Moment()
    const context = contextOn(reader, making, (version, read) => moment.note(version, read), options)
    try {
      const result = await run(context)
      return { moment, result: () => result }
    } catch (error) {
      const fail = (): never => {
        throw error
      }
      return { moment, result: fail }
    } finally {
      // All that was loaded is let go of: a context that waited is old garbage, and all that it holds would be that too.
      context.loaders.clear()
    }
  }

  return async (making, run) => {
    const first = await runOn(database, making, run)
    const { isOne, isUnbounded } = first.moment
    if (isOne) return first.result()
    onRepeat?.()
    const inSnapshot = (reader: VersionedReader) => runOn(reader, making, run)
    return (await database.snapshot(inSnapshot, making.signal, isUnbounded)).result()
  }
}

/** The versions of the data that the reads of one run have told. */
class Moment {
  /** Whether all reads that gave rows were of one version. */
  isOne = true
  /** Whether a read was unbounded. */
  isUnbounded = false
  #version: string | undefined

  note(version: string | null, read: Read): void {
    this.isUnbounded ||= read.isUnbounded === true
    this.#version ??= version ?? undefined
    if (version !== this.#version) this.isOne = false
  }
}
