import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { bodyChunks } from '../../limits/connections.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { CountedConnection } from './connection-counter.ts'
import { pauseWhile } from './pause-while.ts'
import type { ReadPacing } from './pacing/read-pacing.ts'

/** The connection of a request. */
export interface RequestConnection {
  /** Counts it among the connections of the server. */
  readonly admitted: CountedConnection
  /** Whether a stream has started: later requests are not answered, because its body ends with the connection. */
  readonly isStreaming: boolean
  /**
   * Marks the connection as streaming: no later request is started. The connection is closed if requests wait or arrive
   * later.
   */
  endWithStream(): void
  /**
   * Starts a response after the responses to earlier requests on the connection: otherwise it could be sent after them
   * with an older data version.
   * @param awaitTurn resolves in the turn of a response that had to wait: those of many connections may end at once
   */
  inOrder<Answered>(
    response: ServerResponse,
    answer: () => Answered | Promise<Answered>,
    awaitTurn: () => Promise<void>,
  ): Answered | Promise<Answered>
}

/**
 * A request of node:http, as the middleware sees it, that refuses a body in more chunks than the limit. Node parses all
 * chunks of one read of the socket (64 KB, 10,900 chunks of one byte) before a `data` listener is called. They are
 * counted here on arrival, and not stored past the limit.
 */
export class BoundedRequest extends IncomingMessage implements IncomingRequest {
  declare method: string
  declare private isUpgrade: boolean
  /** Its connection; null before the server starts the request. The name `connection` is taken: Node's socket. */
  clientConnection: RequestConnection | null = null
  /** Read pacing of its server, which measures the time that chunks take. */
  pacing: ReadPacing | null = null
  /** Path and query; the parts of the target are set by {@link readTarget}. */
  target = '/'
  path = '/'
  query = noQuery
  #chunks = 0
  #refuse: (() => void) | null = null

  constructor(socket: Socket) {
    super(socket)
    if (callOnBody !== undefined && !stopped.has(socket)) readChunks(socket)
  }

  /** Splits the target into path and query, after the headers are parsed. */
  readTarget(): void {
    this.target = originForm(this.url ?? '/')
    const end = this.target.indexOf('?')
    this.path = end < 0 ? this.target : this.target.slice(0, end)
    if (end >= 0) this.query = new URLSearchParams(this.target.slice(end + 1))
  }

  /** Whether its body had too many chunks: nothing more is read from its connection, which is to be closed. */
  get hasTooManyChunks(): boolean {
    return this.#chunks > bodyChunks
  }

  get remoteAddress(): string | null {
    return this.socket.remoteAddress ?? null
  }

  header(name: string): string | null {
    return this.headers[name]?.toString() ?? null
  }

  headerRecord(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, String(value)]))
  }

  /**
   * Node reads this when the headers are parsed, and creates no response for an upgrade; before Node 26 it also stops
   * parsing. Reporting an upgrade on a closed connection saves work: its last read can contain 2,000 more requests,
   * each of which would cost a response and an error with a stack trace.
   */
  get upgrade(): boolean {
    return this.socket.destroyed || this.isUpgrade
  }

  set upgrade(isUpgrade: boolean) {
    this.isUpgrade = isUpgrade
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (this.hasTooManyChunks) return false
    this.pacing?.onRead(this.socket)
    if (chunk === null || ++this.#chunks <= bodyChunks) return super.push(chunk, encoding)
    stopReading(this.socket)
    this.#refuse?.()
    return false
  }

  /**
   * Calls back when the body has too many chunks, immediately if it already has them. A later callback replaces an
   * earlier one.
   */
  onTooManyChunks(refuse: () => void): void {
    this.#refuse = refuse
    if (this.hasTooManyChunks) refuse()
  }
}

const noQuery = new URLSearchParams()

/** Node's parser of a connection, which calls its functions by number. */
interface ParsedSocket extends Socket {
  readonly parser?: Record<number, unknown> | null
}

/** Number of the function that a parser calls for each chunk: HTTPParser.kOnBody of Node 20 to 26. */
const onBody = 3
/** That function, the same for all parsers; undefined until it is first removed. */
let callOnBody: unknown

/** Connections of which nothing more is read. */
const stopped = new WeakSet<Socket>()

/** Stops reading a connection, once: the same read of the socket can contain more bodies in too many chunks. */
function stopReading(socket: Socket): void {
  if (stopped.has(socket)) return
  stopped.add(socket)
  skipChunks(socket)
  socket.pause()
  // Node resumes the socket when a response ends.
  pauseWhile(socket, () => true)
}

/**
 * Makes Node's parser skip the remaining chunks of this read of the socket: up to 10,900, each of which would cost a
 * buffer and a call of the request. A connection with so many takes 3 ms with skipping, and 11 ms without. Newer
 * releases of Node 26 call the function that the parser had when the read started; `push` then ignores each chunk.
 */
function skipChunks(socket: ParsedSocket): void {
  const { parser } = socket
  if (typeof parser?.[onBody] !== 'function') return
  callOnBody = parser[onBody]
  parser[onBody] = undefined
  // Restores the function before Node reuses the parser for another connection.
  socket.prependOnceListener('close', () => (parser[onBody] = callOnBody))
}

/** Restores the function for chunks of a connection's parser: another request follows. */
function readChunks({ parser }: ParsedSocket): void {
  if (parser?.[onBody] === undefined && parser) parser[onBody] = callOnBody
}

/**
 * Returns path and query of a request target: the absolute form for proxies has a host before them, and servers must
 * accept it too (RFC 9112, section 3.2.2).
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const [origin] = /^https?:\/\/[^/?#]+/i.exec(target) ?? []
  if (origin === undefined) return target
  const rest = target.slice(origin.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
