import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { bodyChunks } from '../../limits.ts'
import type { AdmittedConnection } from './connection-limits.ts'
import type { ReadPacing } from './read-pacing.ts'

/**
 * A request of node:http that refuses a body in more chunks than the limit. Node parses all chunks of one read of the
 * socket (64 KB, 10,900 chunks of one byte) before a `data` listener is called, so they are counted here, where each
 * arrives, and those past the limit are not stored.
 */
export class BoundedRequest extends IncomingMessage {
  /** The place of its connection among those of the server; null if they are not counted. */
  place: AdmittedConnection | null = null
  declare private isUpgrade: boolean
  /** Pacing of its server, which counts the time that its chunks take. */
  pacing: ReadPacing | null = null
  #chunks = 0
  #refuse: (() => void) | null = null

  constructor(socket: Socket) {
    super(socket)
    readChunks(socket)
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
    if (this.#chunks > bodyChunks) return false
    this.pacing?.onRead(this.socket)
    if (chunk === null || ++this.#chunks <= bodyChunks) return super.push(chunk, encoding)
    skipChunks(this.socket)
    this.socket.pause()
    // A response that ends resumes the socket.
    this.socket.on('resume', () => this.socket.pause())
    this.#refuse?.()
    return false
  }

  /**
   * Calls back when the body has too many chunks, at once if it has them already. Nothing more is read from the
   * connection then, which is to be closed. A later callback replaces an earlier one.
   */
  onTooManyChunks(refuse: () => void): void {
    this.#refuse = refuse
    if (this.#chunks > bodyChunks) refuse()
  }
}

/** Node's parser of a connection, which calls its functions by number. */
interface ParsedSocket extends Socket {
  readonly parser?: { [call: number]: unknown } | null
}

/** Number of the function that a parser calls for each chunk: HTTPParser.kOnBody of Node 20 to 26. */
const onBody = 3
/** The function, the same for all parsers; undefined until it was first taken away. */
let callOnBody: unknown

/**
 * Makes Node's parser skip the chunks that follow in this read of the socket: up to 10,900, each of which is a buffer
 * and a call that together take 1 us, and 0.2 us without them.
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
  if (parser?.[onBody] === undefined && callOnBody !== undefined && parser) parser[onBody] = callOnBody
}
