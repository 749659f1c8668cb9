/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** Its type; without it only the id of the stream changes. */
  readonly event?: string
  /** Position in the stream, which a client sends back as Last-Event-ID. */
  readonly id?: string | null
  /** JSON text without line breaks. */
  readonly data?: string | Buffer
  /** Milliseconds after which a client reconnects from now on. */
  readonly retry?: number
}

/**
 * Formats an event.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function eventFrame({ event, id, data, retry }: ServerSentEvent): Buffer {
  const fields = [
    ...(retry === undefined ? [] : [`retry: ${retry}\n`]),
    ...(event === undefined ? [] : [`event: ${event}\n`]),
    ...(id == null ? [] : [`id: ${id}\n`]),
  ].join('')
  if (data === undefined) return Buffer.from(`${fields}\n`)
  return Buffer.concat([Buffer.from(`${fields}data: `), Buffer.from(data), Buffer.from('\n\n')])
}

/** Returns the data in the frame of an event, without a copy. */
export function dataIn(frame: Buffer, length: number): Buffer {
  const end = frame.length - '\n\n'.length
  return frame.subarray(end - length, end)
}

/** Formats a comment, which clients ignore. */
export function commentFrame(text = ''): Buffer {
  return Buffer.from(`:${text === '' ? '' : ` ${text}`}\n\n`)
}

/** Content type of a stream of server-sent events. */
const eventStreamType = 'text/event-stream'

/** Headers of a stream: it is not stored by caches, and not buffered by proxies. */
export const eventStreamHeaders: Readonly<Record<string, string>> = {
  'content-type': `${eventStreamType}; charset=utf-8`,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}
