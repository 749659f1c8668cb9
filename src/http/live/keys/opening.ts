import { type Answer, retryLater } from '../../../rest/problem.ts'
import type { Exchange, Reply } from '../../middleware.ts'
import { overloaded, refuse } from '../../refuse.ts'
import type { Place } from '../delivery/live-connections.ts'
import { EvaluationRefused } from './evaluation-queue.ts'

/** A stream that begins. */
export interface Opening {
  readonly place: Place
  /** Whether its client is still there, and it was not refused. */
  readonly isWanted: () => boolean
}

/**
 * Begins a stream at its place. The place is taken until this work has ended, even if the client leaves: a client has no
 * more of it under way than it may have streams.
 * @param begin returns the stream, or refuses it
 */
export async function openAt(
  exchange: Pick<Exchange, 'request' | 'onLeave'>,
  place: Place | Answer,
  begin: (opening: Opening) => Promise<Reply | Answer>,
): Promise<Reply> {
  const { request, onLeave } = exchange
  if ('status' in place) return refuse(request, place)
  let isWanted = true
  const opened = begin({ place, isWanted: () => isWanted }).then(
    (reply) => ('body' in reply ? refuse(request, reply) : reply),
    (error: unknown) => {
      if (error instanceof EvaluationRefused) return refuse(request, overloaded())
      throw error
    },
  )
  const release = (): void => {
    isWanted = false
    place.release()
  }
  onLeave(() => {
    isWanted = false
    void opened.then(release, release)
  })
  try {
    const reply = await opened
    if (!('begin' in reply)) release()
    return reply
  } catch (error) {
    release()
    throw error
  }
}

/** Returns the problem of a stream for which there is no memory. */
export function noRoom(): Answer {
  return retryLater('OVERLOADED', 'The memory limit of streams is reached. Try again later.')
}
