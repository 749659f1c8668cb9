import type { CombinedError } from '@urql/core'

/** Pauses before a request is made again, in milliseconds: the first one, and the longest. */
const pauses = { first: 1_000, longest: 60_000 } as const
/** Statuses of a refusal that may pass by waiting: of the gateway, and of a proxy before it. */
const passingStatuses: readonly number[] = [429, 502, 503, 504]

/** Makes a request again that has failed for the time being, after pauses that grow, and while the page is visible. */
export class RetryTimer {
  private timer: ReturnType<typeof setTimeout> | undefined
  private failures = 0
  private readonly run: () => void

  /** @param run makes the request; the timer is to be told its result */
  constructor(run: () => void) {
    this.run = run
  }

  /** Notes the result of a request: without an error, or with one that will not pass, it is not made again. */
  ended(error: CombinedError | undefined): void {
    this.cancel()
    if (error === undefined || !mayPass(error)) this.failures = 0
    else this.wait(Math.max((retryAfter(error) ?? 0) * 1000, this.nextPause()))
  }

  /** The request is made for another reason, or is not needed any more. */
  cancel(): void {
    clearTimeout(this.timer)
  }

  private nextPause(): number {
    return Math.min(pauses.longest, pauses.first * 2 ** this.failures++)
  }

  private wait(milliseconds: number): void {
    const fire = (): void => (isPageHidden() ? this.wait(milliseconds) : this.run())
    // Pages that failed together do not ask together.
    this.timer = setTimeout(fire, milliseconds * (1 + Math.random() / 4))
  }
}

/** Returns after how many seconds a refused request may be made again; null where that is not told. */
export function retryAfter(error: CombinedError | undefined): number | null {
  const { headers } = responseOf(error)
  const told = headers?.get('retry-after') ?? ''
  return /^\d{1,4}$/.test(told) ? Number(told) : null
}

/** Tells whether a request that failed may be answered later. One without a response has not reached the gateway. */
function mayPass(error: CombinedError): boolean {
  const { status } = responseOf(error)
  return status === undefined ? error.networkError !== undefined : passingStatuses.includes(status)
}

function responseOf(error: CombinedError | undefined): Partial<Response> {
  return (error?.response ?? {}) as Partial<Response>
}

/** Tells whether the page is hidden. Outside of a browser there is none. */
function isPageHidden(): boolean {
  return 'document' in globalThis && document.visibilityState === 'hidden'
}
