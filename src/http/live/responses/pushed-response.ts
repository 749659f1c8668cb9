import { dataIn } from '../delivery/server-sent-events.ts'
import type { SharedQuery } from './shared-query.ts'

/** A response as it was pushed last. */
export interface PushedResponse {
  readonly digest: string | null
  /** Its bytes within the frame. */
  readonly body: Buffer
  readonly version: string | null
  readonly frame: Buffer
}

/** Makes the frame of a response, which also holds the body. */
export function pushedResponse(
  query: Pick<SharedQuery, 'frame'>,
  { digest, body, version }: Omit<PushedResponse, 'frame'>,
): PushedResponse {
  const frame = query.frame(body, version)
  return { digest, body: dataIn(frame, body.length), version, frame }
}
