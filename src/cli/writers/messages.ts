import type { AppliedPart, Part } from '../../feed/jobs/writer.ts'
import type { FactKind } from '../../feed/fact/fact.ts'
import { factKinds } from '../../feed/fact/fact.ts'
import type { LineOutcome } from '../../feed/projector/line-outcome.ts'

/** A message to a writer's thread: a part to apply, whether the waiting part may commit, or a request to close. */
export type ToWriter =
  | { readonly kind: 'apply'; readonly part: PackedPart }
  | { readonly kind: 'gate'; readonly isOpen: boolean }
  | { readonly kind: 'close' }

/** A message from a writer's thread. */
export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'written'; readonly outcomes: PackedOutcomes }
  | { readonly kind: 'applied'; readonly applied: Omit<AppliedPart, 'outcomes'>; readonly outcomes: PackedOutcomes }
  | { readonly kind: 'failed'; readonly reason: string }

/** A part whose lines are one buffer, which is transferred between threads without a copy. */
export interface PackedPart extends Omit<Part, 'lines'> {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Retained and total length of each line. */
  readonly lengths: Float64Array<ArrayBuffer>
}

/** Packs a part. */
export function packPart({ lines, ...part }: Part): PackedPart {
  const bytes = new Uint8Array(lines.reduce((sum, line) => sum + line.bytes.length, 0))
  const lengths = new Float64Array(2 * lines.length)
  let at = 0
  for (const [index, line] of lines.entries()) {
    bytes.set(line.bytes, at)
    at += line.bytes.length
    lengths[2 * index] = line.bytes.length
    lengths[2 * index + 1] = line.length
  }
  return { ...part, bytes, lengths }
}

/** Unpacks a part. */
export function unpackPart({ bytes, lengths, ...part }: PackedPart): Part {
  const lines: Part['lines'][number][] = []
  let at = 0
  for (let index = 0; index < lengths.length; index += 2) {
    const kept = lengths[index] ?? 0
    lines.push({ bytes: Buffer.from(bytes.buffer, at, kept), length: lengths[index + 1] ?? kept })
    at += kept
  }
  return { ...part, lines }
}

/** Outcomes encoded as one byte each, and rejected lines by index. */
export interface PackedOutcomes {
  readonly codes: Uint8Array<ArrayBuffer>
  readonly rejected: readonly (readonly [index: number, outcome: LineOutcome])[]
}

const statuses = ['applied', 'skipped'] as const

/** Packs outcomes. */
export function packOutcomes(outcomes: readonly LineOutcome[]): PackedOutcomes {
  const codes = new Uint8Array(outcomes.length)
  const rejected: (readonly [number, LineOutcome])[] = []
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') rejected.push([at, outcome])
    else codes[at] = statuses.indexOf(outcome.status) * factKinds.length + factKinds.indexOf(outcome.kind)
  }
  return { codes, rejected }
}

/** Unpacks outcomes. */
export function unpackOutcomes({ codes, rejected }: PackedOutcomes): LineOutcome[] {
  const outcomes = Array.from(codes, (code): LineOutcome => {
    const status = statuses[Math.floor(code / factKinds.length)] ?? 'applied'
    return { status, kind: factKinds[code % factKinds.length] as FactKind }
  })
  for (const [at, outcome] of rejected) outcomes[at] = outcome
  return outcomes
}
