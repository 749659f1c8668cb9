import { Problem, retryLater } from '../../../rest/problem.ts'
import type { Exchange, HandlerResponse } from '../../middleware.ts'
import { overloaded, refuse } from '../../refuse.ts'
import type { StreamSlot } from '../delivery/live-connections.ts'
import { EvaluationRefused } from './evaluation/evaluation-class.ts'

/** A stream that begins. */
export interface Opening {
  readonly slot: StreamSlot
  /** Whether its client is still there, and it was not refused. */
  readonly isWanted: () => boolean
}

/**
 * Begins a stream at its slot. The slot is taken until this work has ended, even if the client leaves: a client has no
 * more of it under way than it may have streams.
 * @param createStream returns the stream, or refuses it
 */
export async function openInSlot(
  exchange: Pick<Exchange, 'request' | 'onDisconnect'>,
  slot: StreamSlot | Problem,
  createStream: (opening: Opening) => Promise<HandlerResponse | Problem>,
): Promise<HandlerResponse> {
  const { request, onDisconnect } = exchange
  if (slot instanceof Problem) return refuse(request, slot)
  let isWanted = true
  const opened = createStream({ slot, isWanted: () => isWanted }).then(
    (response) => (response instanceof Problem ? refuse(request, response) : response),
    (error: unknown) => {
      if (error instanceof EvaluationRefused) return refuse(request, overloaded())
      throw error
    },
  )
  const release = (): void => {
    isWanted = false
    slot.release()
  }
  onDisconnect(() => {
    isWanted = false
    void opened.then(release, release)
  })
  try {
    const response = await opened
    if (!('open' in response)) release()
    return response
  } catch (error) {
    release()
    throw error
  }
}

/** Returns the problem of a stream whose responses exceed the limit on their number or their memory. */
export function noRoom(): Problem {
  return retryLater('OVERLOADED', 'Streams follow too many responses, or these take too much memory. Try again later.')
}
