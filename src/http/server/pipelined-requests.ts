import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Begins a response after the responses to earlier requests on its connection: if it began before them, it would be
 * sent after them with an older data version.
 */
export type AfterEarlierRequests = <Answered>(
  request: IncomingMessage,
  response: ServerResponse,
  answer: () => Answered | Promise<Answered>,
) => Answered | Promise<Answered>

/** Creates the order of the requests that are pipelined on the connections of a server. */
export function createRequestOrder(): AfterEarlierRequests {
  /** Completion of the newest request of a connection that was not answered synchronously. */
  const unanswered = new WeakMap<Socket, Promise<void>>()

  return ({ socket }, response, answer) => {
    // Node assigns the socket to the response that is next to be sent.
    const before = response.socket === null ? unanswered.get(socket) : undefined
    const answered = before === undefined ? answer() : before.then(answer)
    if (answered instanceof Promise) unanswered.set(socket, answered.then(nothing, nothing))
    return answered
  }
}

const nothing = (): void => undefined
