import { request } from 'node:http'

/** An event of a stream: its id is that of the last event that had one. */
export interface StreamEvent {
  readonly event: string
  readonly data: string
  readonly id: string | null
}

export interface StreamRequest {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Body of a POST. */
  readonly body?: string
  readonly localAddress: string
}

/** A stream that is open, or is being opened. */
export interface OpenedStream {
  /** Status of the response; 0 where there was none. Resolves when the stream has ended. */
  readonly ended: Promise<number>
  /** Cuts the connection. */
  cut(): void
}

/**
 * Opens a stream of server-sent events, as EventSource reads it: an event that is cut in its middle has not come.
 * @param receive is called with each event, and with the id alone where only that changed
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

function eventReader(receive: (event: StreamEvent) => void): (chunk: string) => void {
  let text = ''
  let id: string | null = null
  return (chunk) => {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => split(line)))
      id = fields.get('id') ?? id
      receive({ event: fields.get('event') ?? '', data: fields.get('data') ?? '', id })
    }
  }
}

function split(line: string): [string, string] {
  const at = line.indexOf(':')
  return [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')]
}
