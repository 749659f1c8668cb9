import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The end of the newest request of a connection that wasn't answered at once. */
const unanswered = new WeakMap<Socket, Promise<void>>()

/**
 * Begins to answer a request when those before it on its connection are answered: were it begun before, and they wait, it
 * would come after them with an older version of the data.
 */
export function afterEarlierRequests<Answered>(
  { socket }: IncomingMessage,
  response: ServerResponse,
  answer: () => Answered | Promise<Answered>,
): Answered | Promise<Answered> {
  // A response has its socket when it is the next to be sent.
  const before = response.socket === null ? unanswered.get(socket) : undefined
  const answered = before === undefined ? answer() : before.then(answer)
  if (answered instanceof Promise) unanswered.set(socket, answered.then(nothing, nothing))
  return answered
}

const nothing = (): void => undefined
