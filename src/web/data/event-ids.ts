/**
 * Returns a response of server-sent events that calls a function with the id of each event before the event is read.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function withEventIds(response: Response, onId: (id: string) => void): Response {
  if (response.body === null) return response
  const decoder = new TextDecoder()
  let line = ''
  const ids = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(bytes, controller) {
      const lines = `${line}${decoder.decode(bytes, { stream: true })}`.split('\n')
      line = lines.pop() ?? ''
      for (const whole of lines) if (whole.startsWith('id: ')) onId(whole.slice('id: '.length))
      controller.enqueue(bytes)
    },
  })
  return new Response(response.body.pipeThrough(ids), response)
}
