import type { CombinedError } from '@urql/core'

/** Initial and maximum backoff, in milliseconds. */
const pauses = { first: 1_000, longest: 60_000 } as const
/** HTTP statuses of temporary failures, of the gateway or of a proxy in front of it. */
const passingStatuses: readonly number[] = [429, 502, 503, 504]

/** Retries a request after temporary failures, with exponential backoff, and only while the page is visible. */
export class RetryTimer {
  private timer: ReturnType<typeof setTimeout> | undefined
  private failures = 0
  private notBefore = 0
  private readonly run: () => void

  /** @param run makes the request, whose result must be passed to {@link ended} */
  constructor(run: () => void) {
    this.run = run
  }

  /** Handles the result of a request: schedules a retry after a temporary error only. */
  ended(error: CombinedError | undefined): void {
    this.cancel()
    const refusedMilliseconds = (retryAfter(error) ?? 0) * 1000
    this.notBefore = performance.now() + refusedMilliseconds
    if (error === undefined || !mayPass(error)) this.failures = 0
    else this.wait(Math.max(refusedMilliseconds, this.nextPause()))
  }

  /** Whether a pause that the gateway has requested by Retry-After lasts: a retry is scheduled. */
  get isRefused(): boolean {
    return performance.now() < this.notBefore
  }

  /** Cancels the retry: another request replaces it, or it is not needed any more. */
  cancel(): void {
    clearTimeout(this.timer)
  }

  /** Schedules a request that Retry-After delays, after its retry was cancelled. */
  resume(): void {
    this.cancel()
    if (this.isRefused) this.wait(this.notBefore - performance.now())
  }

  private nextPause(): number {
    return Math.min(pauses.longest, pauses.first * 2 ** this.failures++)
  }

  private wait(milliseconds: number): void {
    const fire = (): void => (isPageHidden() ? this.wait(milliseconds) : this.run())
    // Jitter, so that pages that failed together do not retry together.
    this.timer = setTimeout(fire, milliseconds * (1 + Math.random() / 4))
  }
}

/** Returns the seconds of a Retry-After header; null without one. */
export function retryAfter(error: CombinedError | undefined): number | null {
  const { headers } = responseOf(error)
  const told = headers?.get('retry-after') ?? ''
  return /^\d{1,4}$/.test(told) ? Number(told) : null
}

/** Returns whether an error is temporary. A network error without a response means that the gateway was not reached. */
function mayPass(error: CombinedError): boolean {
  const { status } = responseOf(error)
  return status === undefined ? error.networkError !== undefined : passingStatuses.includes(status)
}

function responseOf(error: CombinedError | undefined): Partial<Response> {
  return (error?.response ?? {}) as Partial<Response>
}

/** Returns whether the page is hidden; false outside a browser. */
function isPageHidden(): boolean {
  return 'document' in globalThis && document.visibilityState === 'hidden'
}
