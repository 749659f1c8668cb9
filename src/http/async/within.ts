import { resultWithin } from '../../database/cancellation.ts'

/** How long a client waits for work that another sender began before it begins its own, in milliseconds: a few reads. */
const otherMilliseconds = 100

/**
 * Returns the result of work that another sender began. Where it takes long, it may wait for the turn of that sender: own work
 * begins then, or when the other fails, and the result that is there first is returned.
 * @throws the error of the own work, where both fail
 */
export async function otherOrOwn<Result>(other: Promise<Result>, beginOwn: () => Promise<Result>): Promise<Result> {
  const inTime = await within(otherMilliseconds, other)
  if (inTime !== null) return inTime
  const own = beginOwn()
  return Promise.any([other, own]).catch(() => own)
}

/** Returns the result of work, or null where it fails or takes longer. */
export function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | null> {
  return resultWithin(milliseconds, work).catch(() => null)
}
