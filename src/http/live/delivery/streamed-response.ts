import type { ByteSink } from '../../server/byte-sink.ts'
import { eventStreamHeaders } from './server-sent-events.ts'

/** A response of server-sent events, which stays open. */
export class StreamedResponse {
  readonly status = 200
  readonly headers = eventStreamHeaders

  /**
   * @param open is called when the headers are sent, with the body to write; with null for HEAD, which has none, and
   *   for a client that has left
   */
  constructor(readonly open: (sink: ByteSink | null) => void) {}
}
