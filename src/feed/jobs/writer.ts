import type { Database, Transaction } from '../../database/database.ts'
import { isConflict } from '../../database/errors.ts'
import { commitNonce, findCommit, readLogHead } from '../../database/write/commit-log.ts'
import { limitLockWait } from '../../database/write/vaults/lock-wait.ts'
import { type LineBytes, parseLine } from '../fact/parse-line.ts'
import { CommitsLost } from '../position/expected-state.ts'
import { loadBatchState } from '../projector/batch-state.ts'
import type { ParsedLine, LineOutcome } from '../projector/line-outcome.ts'
import { project } from '../projector/project-lines.ts'
import { factsOf, newestFactTime, saveContendedRows } from '../projector/projector.ts'
import { saveChanges } from '../projector/save-changes.ts'

/** The lines of a round that one writer applies: all lines about certain vaults, in the order of the feed. */
export interface Part {
  readonly lines: readonly LineBytes[]
  readonly setAsideBad: boolean
  /** Clock in Unix seconds: a new fact more than a day ahead of it is rejected; undefined to accept all. */
  readonly clockSeconds: number | undefined
  /** Version of a commit that the database must still contain; null where there is none yet. */
  readonly base: string | null
}

/** Result of a committed part. */
export interface AppliedPart {
  /** Outcome of each line. */
  readonly outcomes: readonly LineOutcome[]
  /** Nonce of the commit in the log; null where nothing was new. */
  readonly nonce: string | null
  /** Version of the newest commit that the lines were compared with; null where there was none. */
  readonly version: string | null
  /** Time of the newest fact, new or known, in Unix seconds; null where there is none. */
  readonly newestTs: number | null
}

/**
 * Waits until all parts of a round may commit.
 * @param outcomes outcomes of the lines of a part, whose rows are written and not committed
 * @throws {RoundAbandoned} when the part must be rolled back
 */
export type Gate = (outcomes: readonly LineOutcome[]) => Promise<void>

/** Applies parts, one at a time, on a connection of its own. */
export interface Writer {
  apply(part: Part, gate: Gate): Promise<AppliedPart>
  close(): Promise<void>
}

/** A round that not all parts may commit: its lines are applied again, batch by batch. */
export class RoundAbandoned extends Error {
  override readonly name = 'RoundAbandoned'
}

/** Transactions on a connection that no other writer uses. */
export type WriterConnection = Pick<Database, 'transaction' | 'close'>

/** Returns a writer that parses, projects and stores its lines in this thread. */
export function createWriter(connection: WriterConnection): Writer {
  return {
    apply(part, gate) {
      const batch = part.lines.map((line) => parseLine(line, noPosition))
      return applyPart(connection, batch, part, onceOpen(gate))
    },
    close: () => connection.close(),
  }
}

/** No position is stored with a part. */
const noPosition = { line: 0, byte: 0, fingerprint: '' }

/** Awaits a gate only once: a later attempt of the same part passes if its outcomes are the same. */
function onceOpen(gate: Gate): Gate {
  let passed: readonly LineOutcome[] | undefined
  return async (outcomes) => {
    if (passed === undefined) await gate(outcomes)
    else if (!outcomes.every(({ status }, at) => status === passed?.[at]?.status)) throw new RoundAbandoned()
    passed = outcomes
  }
}

const maxAttempts = 5

async function applyPart(
  connection: WriterConnection,
  batch: readonly ParsedLine[],
  part: Part,
  gate: Gate,
): Promise<AppliedPart> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.transaction((transaction) => writePart(transaction, batch, part, gate))
    } catch (error) {
      if (attempt === maxAttempts || !isConflict(error)) throw error
    }
  }
}

async function writePart(
  transaction: Transaction,
  batch: readonly ParsedLine[],
  { setAsideBad, clockSeconds, base }: Part,
  gate: Gate,
): Promise<AppliedPart> {
  limitLockWait(transaction)
  // Reads the newest commit last, so that it covers everything that the lines are compared with.
  const [found, { state, figures }, head] = await Promise.all([
    base === null ? null : findCommit(transaction, base),
    loadBatchState(transaction, factsOf(batch)),
    readLogHead(transaction),
  ])
  if (base !== null && found === null) throw new CommitsLost(null)
  const { projection, outcomes } = await project(transaction, state, batch, {
    setAsideBad,
    clockSeconds,
    isDivisible: false,
    handledLines: null,
  })
  const nonce = commitNonce()
  if (outcomes.length === batch.length) await saveChanges(transaction, projection, nonce)
  await gate(outcomes)
  const newestTs = newestFactTime(batch, outcomes, ['applied'])
  const { logged } = await saveContendedRows(transaction, projection, figures, { nonce, newestTs })
  return {
    outcomes,
    nonce: logged === null ? null : nonce,
    version: head?.version ?? null,
    newestTs: newestFactTime(batch, outcomes, ['applied', 'skipped']),
  }
}
