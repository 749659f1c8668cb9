import type { Summary, Tally } from '../feed/checkpoints.ts'
import type { Progress } from '../feed/reading/decompress.ts'

/** How much of a run is done at a moment: facts that are applied or known, and the bytes of the feed that they took. */
export interface ProgressSample {
  readonly milliseconds: number
  readonly facts: number
  /** As they are packed, up to the feed's total. */
  readonly bytesDone: number
}

/**
 * What a run has done.
 * @param bytesHandled of the feed's unpacked bytes, those of the lines that were applied, skipped or set aside
 */
export function progressSample(
  { applied, skipped }: Summary,
  bytesHandled: number,
  { bytesRead, bytesUnpacked }: Progress,
  milliseconds: number,
): ProgressSample {
  const bytesDone = bytesUnpacked === 0 ? 0 : Math.round((bytesRead * bytesHandled) / bytesUnpacked)
  return { milliseconds, facts: total(applied) + total(skipped), bytesDone }
}

/** Facts a second between two moments. */
export function factsPerSecond(from: ProgressSample, to: ProgressSample): number {
  const milliseconds = to.milliseconds - from.milliseconds
  return milliseconds > 0 ? Math.round(((to.facts - from.facts) * 1000) / milliseconds) : 0
}

/** The time left, if it goes on as between two moments: `1m 05s`, or `?` where that can't be told. */
export function timeLeft(from: ProgressSample, to: ProgressSample, bytesTotal: number): string {
  const bytes = to.bytesDone - from.bytesDone
  if (bytes <= 0) return '?'
  const left = ((bytesTotal - to.bytesDone) * (to.milliseconds - from.milliseconds)) / bytes
  const seconds = Math.max(0, Math.ceil(left / 1000))
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`
}

export function total(tally: Tally): number {
  return Object.values(tally).reduce((sum, count) => sum + count, 0)
}
