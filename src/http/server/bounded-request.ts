import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { bodyChunks } from '../../limits.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { AdmittedConnection } from './connection-limits.ts'
import { pauseWhile } from './pause-while.ts'
import type { ReadPacing } from './pacing/read-pacing.ts'

/** The connection of a request. */
export interface RequestConnection {
  /** Counts it among the connections of the server. */
  readonly admitted: AdmittedConnection
  /** Whether a stream was begun, after which nothing more is answered: its body ends with the connection. */
  readonly isStreaming: boolean
  /**
   * Notes that a stream answers a request: none behind it is begun, and where some wait already, or come later, the
   * connection is closed.
   */
  endWithStream(): void
  /**
   * Begins a response after the responses to earlier requests on the connection: if it began before them, it would be
   * sent after them with an older data version.
   */
  inOrder<Answered>(response: ServerResponse, answer: () => Answered | Promise<Answered>): Answered | Promise<Answered>
}

/**
 * A request of node:http, as the middleware sees it, that refuses a body in more chunks than the limit. Node parses all
 * chunks of one read of the socket (64 KB, 10,900 chunks of one byte) before a `data` listener is called, so they are
 * counted here, where each arrives, and those past the limit are not stored.
 */
export class BoundedRequest extends IncomingMessage implements IncomingRequest {
  declare method: string
  declare private isUpgrade: boolean
  /** Its connection, which is null before the server begins the request. Node has a property `connection`: the socket. */
  clientConnection: RequestConnection | null = null
  /** Pacing of its server, which counts the time that its chunks take. */
  pacing: ReadPacing | null = null
  #target: string | undefined
  #path: string | undefined
  #query: URLSearchParams | undefined
  #chunks = 0
  #refuse: (() => void) | null = null

  constructor(socket: Socket) {
    super(socket)
    if (callOnBody !== undefined) readChunks(socket)
  }

  get target(): string {
    return (this.#target ??= originForm(this.url ?? '/'))
  }

  get path(): string {
    if (this.#path !== undefined) return this.#path
    const end = this.target.indexOf('?')
    return (this.#path = end < 0 ? this.target : this.target.slice(0, end))
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.target.slice(this.path.length + 1)))
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
   * Node reads this as soon as the headers are parsed, and makes no response for a request to upgrade; before Node 26 it
   * also stops parsing. A connection that was closed for the number of its requests can have 2,000 more in the same
   * read, each of which would cost a response and an error with a stack trace.
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
    skipChunks(this.socket)
    this.socket.pause()
    // A response that ends resumes the socket.
    pauseWhile(this.socket, () => true)
    this.#refuse?.()
    return false
  }

  /**
   * Calls back when the body has too many chunks, at once if it has them already. A later callback replaces an earlier
   * one.
   */
  onTooManyChunks(refuse: () => void): void {
    this.#refuse = refuse
    if (this.hasTooManyChunks) refuse()
  }
}

/** Node's parser of a connection, which calls its functions by number. */
interface ParsedSocket extends Socket {
  readonly parser?: Record<number, unknown> | null
}

/** Number of the function that a parser calls for each chunk: HTTPParser.kOnBody of Node 20 to 26. */
const onBody = 3
/** The function, the same for all parsers; undefined until it was first taken away. */
let callOnBody: unknown

/**
 * Makes Node's parser skip the chunks that follow in this read of the socket: up to 10,900, for each of which it would
 * make a buffer and call this request. A connection with as many takes 3 ms without these, and 11 ms with them. Newer releases of
 * Node 26 call the function that the parser had when the read began; then each chunk is ignored by `push`.
 */
function skipChunks(socket: ParsedSocket): void {
  const { parser } = socket
  if (typeof parser?.[onBody] !== 'function') return
  callOnBody = parser[onBody]
  parser[onBody] = undefined
  // Before Node gives the parser to another connection.
  socket.prependOnceListener('close', () => (parser[onBody] = callOnBody))
}

/** Makes the parser of a connection call for chunks again: another request follows. */
function readChunks({ parser }: ParsedSocket): void {
  if (parser?.[onBody] === undefined && parser) parser[onBody] = callOnBody
}

/**
 * Returns path and query of a request target: the absolute form for proxies has a host before them, and servers must
 * accept it too (RFC 9112, section 3.2.2).
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const [, rest = target] = /^https?:\/\/[^/?#]+(.*)$/i.exec(target) ?? []
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}
