import type { KindCounts, Summary } from '../feed/summary.ts'
import type { ByteCounts } from '../feed/reading/decompress.ts'

/** Progress of a run at one moment. */
export interface ProgressSample {
  readonly milliseconds: number
  readonly facts: number
  /** Position in the stored feed, which may be compressed. */
  readonly bytesDone: number
}

/**
 * Measures the progress of a run.
 * @param endByte end of the last processed line in the decompressed feed
 * @param milliseconds time since the start
 */
export function progressSample(
  { applied, skipped }: Summary,
  endByte: number,
  { bytesRead, bytesDecompressed }: ByteCounts,
  milliseconds: number,
): ProgressSample {
  const bytesDone = bytesDecompressed === 0 ? 0 : Math.round((bytesRead * endByte) / bytesDecompressed)
  return { milliseconds, facts: total(applied) + total(skipped), bytesDone }
}

/** Returns the rate between two samples, in facts per second. */
export function factsPerSecond(from: ProgressSample, to: ProgressSample): number {
  const milliseconds = to.milliseconds - from.milliseconds
  return milliseconds > 0 ? Math.round(((to.facts - from.facts) * 1000) / milliseconds) : 0
}

/**
 * Estimates the remaining time from the rate between two samples: `1m 05s`, or `?` where it is unknown.
 * @param bytesTotal size of the feed as stored
 */
export function timeLeft(from: ProgressSample, to: ProgressSample, bytesTotal: number): string {
  const bytes = to.bytesDone - from.bytesDone
  if (bytes <= 0) return '?'
  const left = ((bytesTotal - to.bytesDone) * (to.milliseconds - from.milliseconds)) / bytes
  const seconds = Math.max(0, Math.ceil(left / 1000))
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`
}

/** Sums the counts of all kinds. */
export function total(counts: KindCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
