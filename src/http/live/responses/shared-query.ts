import { compareVersions } from '../../../domain/identity/data-version.ts'
import type { EncodedResponse } from '../../cache/encoded-response.ts'

/** A response, and the version of the data that it shows; null if that is unknown. */
export interface Evaluation {
  readonly response: EncodedResponse
  readonly version: string | null
}

/** A response with the time that it took to make, without what it waited for before and after. */
export interface TimedEvaluation extends Evaluation {
  readonly milliseconds: number
}

/** A query that streams can follow: how its response is evaluated, and how that is written to a stream. */
export interface SharedQuery {
  /** Equal for queries with equal responses in equal frames. */
  readonly name: string
  /** Makes the response. */
  readonly evaluate: () => Promise<Evaluation>
  /** Formats a response of status 200. */
  readonly frame: (body: Buffer, version: string | null) => Buffer
  /** Formats any other response, and tells whether the stream ends with it. */
  readonly refusal: (response: EncodedResponse) => { readonly frame: Buffer; readonly isEnd: boolean }
  /** Tells a client that all data of its stream may be out of date. */
  readonly staleFrame: Buffer
  /** Tells a client that the data of this response may be out of date. */
  readonly ownStaleFrame: Buffer
}

/** Returns the later one of two data versions of one history. */
export function laterVersion(first: string | null, second: string | null): string | null {
  if (first === null || second === null) return first ?? second
  return compareVersions(second, first) === 'newer' ? second : first
}
