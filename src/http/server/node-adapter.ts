import type { ServerResponse } from 'node:http'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { type HttpLimits } from '../../limits.ts'
import { connectionLimits, discardedBytes, unsentBytes } from '../../limits/connections.ts'
import { Turns } from '../async/turns.ts'
import type { OutgoingResponse } from '../cache/encoded-response.ts'
import { type Exchange, emptyBody } from '../middleware.ts'
import type { StartTrace } from '../middleware/tracing.ts'
import { senderOf } from '../sender.ts'
import type { BoundedRequest } from './bounded-request.ts'
import { startStream } from './byte-sink.ts'
import { BodyShare, type ProcessCapacity } from './capacity/process-capacity.ts'
import { UnsentBytes } from './capacity/unsent-bytes.ts'
import { awaitsContinue, discardRest, socketBody } from './request-body.ts'

/** Options of the adapters that pass requests to the gateway's handler. */
export interface AdapterOptions {
  readonly limits: HttpLimits
  readonly capacity: ProcessCapacity
  /** Lets senders take turns when many requests resume at once, such as pipelined ones. */
  readonly turns: Turns
  readonly startTrace: StartTrace
  /** Number of proxies in front of the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
  /** Responds to a request: synchronously where neither I/O nor compression is needed. */
  readonly handle: (exchange: Exchange) => OutgoingResponse | Promise<OutgoingResponse>
}

/** Answers a request of node:http. */
export type NodeListener = (request: BoundedRequest, response: ServerResponse<BoundedRequest>) => Promise<void>

/** Creates the adapter that passes requests of node:http to the gateway's handler. */
export function nodeAdapter({
  limits,
  capacity,
  turns,
  startTrace,
  handle,
  trustedProxies,
}: AdapterOptions): NodeListener {
  const write = createResponseWriter()
  return async (request, response) => {
    const { clientConnection } = request
    const trace = startTrace(request)
    let share: BodyShare | undefined
    let isDisconnected = false
    const disconnectCallbacks: (() => void)[] = []
    // All properties are listed: spreading an object with those that start empty took a third of the time of a cached response.
    const exchange: Exchange = {
      body: emptyBody,
      senderHeaders: [],
      stateAtStart: null,
      request,
      trace,
      sender:
        clientConnection !== null && trustedProxies === 0
          ? clientConnection.admitted.sender
          : senderOf(request, trustedProxies),
      readBody: () => socketBody(request, response, limits, (share = new BodyShare(capacity.bodies, exchange.sender))),
      onDisconnect: (cancel) => {
        if (isDisconnected) cancel()
        else disconnectCallbacks.push(cancel)
      },
    }
    response.on('close', () => {
      isDisconnected = true
      share?.release()
      const isSent = response.writableFinished
      trace.end(isSent ? response.statusCode : null)
      if (!isSent) for (const cancel of disconnectCallbacks) cancel()
    })
    // A pipelined request is not started if its client has disconnected, nor after a stream, whose body ends with the
    // connection.
    const answer = (): ReturnType<typeof handle> | null =>
      isDisconnected || clientConnection?.isStreaming === true ? null : handle(exchange)
    const awaitTurn = (): Promise<void> => turns.next(exchange.sender)
    const answered = clientConnection === null ? answer() : clientConnection.inOrder(response, answer, awaitTurn)
    const outgoing = answered instanceof Promise ? await answered : answered
    const isStream = outgoing?.stream !== undefined
    if (isStream) clientConnection?.endWithStream()
    if (outgoing !== null) await write(response, outgoing, exchange.sender)
    if (isStream) {
      share?.release()
      exchange.body = emptyBody
    }
    // A stream detects that its client has left; until then these callbacks would keep the request's objects in memory.
    disconnectCallbacks.length = 0
  }
}

/**
 * Writes a response; rejects if its headers are invalid. Responses are flushed once per event-loop iteration: fewer
 * system calls and client wake-ups. Where they are too many for one iteration, senders take turns.
 */
type WriteResponse = (
  response: ServerResponse<BoundedRequest>,
  outgoing: OutgoingResponse,
  sender: string,
) => Promise<void>

/** Creates the writer of a server, with a limit on the bytes that its clients have not received. */
export function createResponseWriter(unsent = new UnsentBytes(unsentBytes)): WriteResponse {
  /** Resolves at the end of this iteration of the event loop; null while no response waits for it. */
  let endOfIteration: Promise<void> | null = null
  const writeTurns = new Turns(connectionLimits.iterationMilliseconds)
  return async (response, outgoing, sender) => {
    const end = (endOfIteration ??= nextIteration())
    await end
    // The first response of an iteration is sent without a turn; the others are, while the iteration has time left.
    if (endOfIteration === end) endOfIteration = null
    else if (!writeTurns.isFree()) await writeTurns.next(sender)
    send(response, outgoing, sender, unsent)
  }
}

function send(
  response: ServerResponse<BoundedRequest>,
  outgoing: OutgoingResponse,
  sender: string,
  unsent: UnsentBytes,
): void {
  const { req: request } = response
  const { status, headers, bytes, stream } = outgoing
  const { hasTooManyChunks } = request
  const isUnread = !request.complete || hasTooManyChunks
  if (stream !== undefined) {
    // Node emits no further events on a response whose client left before it reached the head of its pipeline.
    if (request.socket.destroyed) return stream(null)
    request.clientConnection?.admitted.countAsStream()
    // An unread body would occupy its buffer for as long as the stream is open.
    if (isUnread) discardRest(request, discardedBytes)
    return stream(startStream(response, headers))
  }
  // A client that did not receive 100 Continue may send its body or omit it: the next bytes are ambiguous.
  if (hasTooManyChunks || (isUnread && awaitsContinue(request))) response.setHeader('connection', 'close')
  response.writeHead(status, headers as string[])
  const body = request.method === 'HEAD' ? null : bytes
  response.end(body ?? undefined)
  // Usually the kernel has accepted the whole body by now. A pipelined response has no socket until it is at the head.
  if (response.socket === null || response.socket.writableLength > 0) unsent.add(response, body ?? noBody, sender)
  if (isUnread && !hasTooManyChunks) discardRest(request, discardedBytes)
}

const noBody = Buffer.alloc(0)
