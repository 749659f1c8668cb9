import type { Database, Transaction } from '../../database/database.ts'
import { commitsOf, readLogHead } from '../../database/write/commit-log.ts'
import { type FeedPosition, saveFeedPosition, saveNewestFact } from '../../database/write/feed.ts'
import { nonceOf } from '../../domain/identity/data-version.ts'
import { rejectedLines } from '../rejects/rejected-lines.ts'
import { positionAfter } from '../position/line-position.ts'
import { CommitsLost, type ExpectedState, movesPosition, type SeenPosition } from '../position/expected-state.ts'
import { handledEnd } from '../position/handled-lines.ts'
import { lockVerifiedPosition } from '../position/verified-position.ts'
import type { LineOutcome } from '../projector/line-outcome.ts'
import type { Line } from '../reading/lines.ts'
import { clockOf, type Source } from '../reading/source.ts'
import type { Rejects } from '../rejects/rejects.ts'
import { type AppliedPart, RoundAbandoned, type Writer } from './writer.ts'

/** Options of {@link applyRound}. */
export interface RoundOptions {
  readonly database: Pick<Database, 'transaction'>
  readonly writers?: readonly Writer[]
  readonly source: Source
  readonly rejects?: Rejects
  readonly expected: ExpectedState
  /** The last line that was counted, and set aside if bad, before the source was reopened. */
  readonly countedUpTo: number
  /** Clock in Unix seconds; without it the times of facts are not compared with a clock. */
  readonly nowSeconds?: () => number
}

/** Result of a round. */
export interface AppliedRound {
  /** Outcome of each line that is committed or set aside; undefined for the others. */
  readonly outcomes: readonly (LineOutcome | undefined)[]
  /** State of the run after the round; null where some lines are not committed: the position has not moved then. */
  readonly expected: ExpectedState | null
}

/**
 * Applies lines by several writers, each in a separate transaction. Another transaction locks the position of the feed, compares
 * it with the position that the run saw last, and moves it after all writers have committed. No writer commits before all have
 * written their lines: by then bad lines are set aside, or one abandons the round.
 *
 * A failed round does not move the position: facts that some writers have committed by then are known when the lines are
 * applied again.
 * @param parts indexes of the lines of each part, at most as many as there are writers
 */
export async function applyRound(
  options: RoundOptions,
  lines: readonly Line[],
  parts: readonly (readonly number[])[],
): Promise<AppliedRound> {
  const round = new Round(options, lines, parts)
  try {
    const expected = await options.database.transaction((transaction) => round.run(transaction))
    return { outcomes: round.outcomes, expected }
  } catch {
    // The caller applies the lines again, batch by batch: an error that persists is thrown there.
    await round.ended()
    return { outcomes: round.outcomes, expected: null }
  }
}

class Round {
  readonly outcomes: (LineOutcome | undefined)[]
  #running: Promise<AppliedPart>[] = []
  readonly #written = new Map<number, readonly LineOutcome[]>()
  readonly #gate = new RoundGate()

  constructor(
    readonly options: RoundOptions,
    readonly lines: readonly Line[],
    readonly parts: readonly (readonly number[])[],
  ) {
    this.outcomes = lines.map(() => undefined)
  }

  async run(transaction: Transaction): Promise<ExpectedState> {
    const { source, expected } = this.options
    const last = this.lines.at(-1) as Line
    const position = positionAfter(source, last)
    const { stored } = await lockVerifiedPosition(transaction, source.name, expected, [position])
    const end = handledEnd(source.handledPrefix, stored, expected.lastPosition, [position])
    const head = await readLogHead(transaction)
    const applied = await this.#applyParts(head?.version ?? null)
    const version = await newestVersion(transaction, head?.seq ?? 0, applied)
    const lastPosition = this.#savePosition(transaction, { stored, position, end }, applied)
    return { ...expected, lastPosition, version: version ?? expected.version }
  }

  async #applyParts(base: string | null): Promise<readonly AppliedPart[]> {
    const { writers = [], source, rejects, nowSeconds } = this.options
    const clockSeconds = clockOf(source, nowSeconds)?.()
    this.#running = this.parts.map(async (indexes, at) => {
      const lines = indexes.map((index) => this.lines[index] as Line)
      const part = { lines, setAsideBad: rejects !== undefined, clockSeconds, base }
      const applied = await (writers[at] as Writer).apply(part, (outcomes) => this.#hasWritten(at, outcomes))
      indexes.forEach((index, ofPart) => (this.outcomes[index] = applied.outcomes[ofPart]))
      return applied
    })
    for (const each of this.#running) each.catch((error: unknown) => this.#gate.shut(error))
    return Promise.all(this.#running)
  }

  async #hasWritten(at: number, outcomes: readonly LineOutcome[]): Promise<void> {
    this.#written.set(at, outcomes)
    const isBad = outcomes.some(({ status }) => status === 'rejected')
    if (isBad && this.options.rejects === undefined) this.#gate.shut(new RoundAbandoned())
    else if (this.#written.size === this.parts.length) this.#openGate()
    await this.#gate.opened
  }

  #openGate(): void {
    const { rejects, countedUpTo } = this.options
    const outcomes: LineOutcome[] = []
    this.parts.forEach((indexes, at) =>
      indexes.forEach((index, ofPart) => (outcomes[index] = this.#written.get(at)?.[ofPart] as LineOutcome)),
    )
    const rejected = rejectedLines(this.lines, outcomes).filter(({ line }) => line.number > countedUpTo)
    const kept = rejects?.write(rejected) ?? Promise.resolve()
    kept.then(
      () => {
        // They are set aside, also where the response to the commit of their part is lost.
        for (const [at, outcome] of outcomes.entries()) if (outcome.status === 'rejected') this.outcomes[at] = outcome
        this.#gate.open()
      },
      (error: unknown) => this.#gate.shut(error),
    )
  }

  #savePosition(
    transaction: Transaction,
    { stored, position, end }: { stored: FeedPosition | null; position: FeedPosition; end: number },
    applied: readonly AppliedPart[],
  ): SeenPosition {
    const { name } = this.options.source
    const hasApplied = this.outcomes.some((outcome) => outcome?.status === 'applied')
    const isMoved = movesPosition(stored, position, hasApplied, end)
    if (isMoved) saveFeedPosition(transaction, name, stored, position)
    const newest = applied.flatMap(({ newestTs }) => newestTs ?? [])
    if (newest.length > 0) saveNewestFact(transaction, name, Math.max(...newest))
    return isMoved ? position : hasApplied ? undefined : stored
  }

  /** Waits until no part is being applied. */
  async ended(): Promise<void> {
    this.#gate.shut(new RoundAbandoned())
    await Promise.allSettled(this.#running)
  }
}

/** Holds back the commits of a round. */
class RoundGate {
  open: () => void = () => undefined
  shut: (error: unknown) => void = () => undefined
  /** Resolves when the parts may commit, and rejects when they must not. */
  readonly opened = new Promise<void>((resolve, reject) => {
    this.open = resolve
    this.shut = reject
  })

  constructor() {
    // Prevents an unhandled rejection while no part awaits the gate.
    this.opened.catch(() => undefined)
  }
}

/**
 * Returns the newest commit that a round has created or compared its lines with: its presence proves that of all facts.
 * @throws {CommitsLost} when the database does not contain all of them
 */
async function newestVersion(
  transaction: Transaction,
  base: number,
  applied: readonly AppliedPart[],
): Promise<string | null> {
  const nonces = [
    ...new Set(applied.flatMap(({ nonce, version }) => [nonce, version === null ? null : nonceOf(version)])),
  ]
  const wanted = nonces.filter((nonce) => nonce !== null)
  const found = await commitsOf(transaction, Math.max(0, base - 1), wanted)
  const known = new Set(found.map(({ version }) => nonceOf(version)))
  if (wanted.some((nonce) => !known.has(nonce))) throw new CommitsLost(null)
  return found.at(-1)?.version ?? null
}
