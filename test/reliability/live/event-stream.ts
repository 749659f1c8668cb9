import { request } from 'node:http'

/** A server-sent event. */
export interface StreamEvent {
  readonly event: string
  readonly data: string
  /** Id of this event, or of the last one before it that had an id. */
  readonly id: string | null
}

/** A request for a stream. */
export interface StreamRequest {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Makes it a POST request. */
  readonly body?: string
  readonly localAddress: string
}

/** A stream that is open or being opened. */
export interface OpenedStream {
  /** Resolves with the status when the stream has ended; with 0 if there was no response. */
  readonly ended: Promise<number>
  /** Closes the connection. */
  cut(): void
}

/**
 * Opens a stream of server-sent events, and parses it like EventSource: an incomplete event at the end is dropped.
 * @param receive is called with each event, also with those that only have an id
 */
export function openEventStream(options: StreamRequest, receive: (event: StreamEvent) => void): OpenedStream {
  const { port, path, headers = {}, body, localAddress } = options
  const method = body === undefined ? 'GET' : 'POST'
  const sent = request({ host: '127.0.0.1', agent: false, port, path, method, localAddress, headers })
  const ended = new Promise<number>((resolve) => {
    sent.on('error', () => resolve(0))
    sent.on('response', (response) => {
      const status = response.statusCode ?? 0
      response.setEncoding('utf8')
      response.on('error', () => undefined)
      response.on('close', () => resolve(status))
      if (status === 200) response.on('data', eventReader(receive))
      else response.resume()
    })
  })
  sent.end(body)
  return { ended, cut: () => void sent.destroy() }
}

/** Returns a function that parses chunks of a stream into events. */
function eventReader(receive: (event: StreamEvent) => void): (chunk: string) => void {
  let text = ''
  let id: string | null = null
  return (chunk) => {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => splitField(line)))
      id = fields.get('id') ?? id
      receive({ event: fields.get('event') ?? '', data: fields.get('data') ?? '', id })
    }
  }
}

function splitField(line: string): [string, string] {
  const at = line.indexOf(':')
  return [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')]
}
