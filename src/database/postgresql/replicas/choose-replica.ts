/** The properties by which a replica is chosen. */
export interface Candidate {
  /** Reason why it cannot be read from; null where it can. */
  readonly problem: string | null
  /** Proved age of its data, in milliseconds; Infinity where none is proved. */
  readonly ageMilliseconds: number
  /** Whether it accepts writes: it is read from only where no standby is usable. */
  readonly isPrimary: boolean
}

/** Limits of age, in milliseconds. */
export interface AgeLimits {
  /** Beyond it nothing is read from a replica. */
  readonly stale: number
  /** Beyond it another replica is preferred whose data is at most half as old. */
  readonly lagging: number
}

/** Replicas whose ages differ by less count as equally fresh, because they are polled at different times. */
const sameMilliseconds = 1_000

/** Returns the reason to stop reading from the current replica, as words to follow its name; null where it remains. */
export function reasonToLeave(
  current: Candidate,
  others: readonly Candidate[],
  { stale, lagging }: AgeLimits,
): string | null {
  const { problem, ageMilliseconds, isPrimary } = current
  if (problem !== null) return problem
  const age = Math.floor(ageMilliseconds / 1000)
  if (ageMilliseconds > stale) return `has data that is ${age} s old`
  const isFresher = (other: Candidate): boolean => other.problem === null && other.ageMilliseconds < ageMilliseconds / 2
  if (ageMilliseconds > lagging && others.some(isFresher)) return `lags ${age} s behind`
  return isPrimary && others.some((other) => isFreshStandby(other, lagging)) ? 'is the primary' : null
}

function isFreshStandby({ problem, ageMilliseconds, isPrimary }: Candidate, lagging: number): boolean {
  return problem === null && !isPrimary && ageMilliseconds <= lagging
}

/**
 * Returns the first standby whose data is about as fresh as that of the freshest one; the primary itself where no standby is
 * fresh; undefined where no server can be read from.
 */
export function chooseReplica<Given extends Candidate>(
  candidates: readonly Given[],
  { stale, lagging }: AgeLimits,
): Given | undefined {
  const standbys = candidates.filter((candidate) => isFreshStandby(candidate, Math.min(lagging, stale)))
  const all = candidates.filter(({ problem, ageMilliseconds }) => problem === null && ageMilliseconds <= stale)
  const fit = standbys.length > 0 ? standbys : all
  const least = Math.min(...fit.map(({ ageMilliseconds }) => ageMilliseconds))
  return fit.find(({ ageMilliseconds }) => ageMilliseconds < least + sameMilliseconds)
}
