import { Canceller } from '../../database/cancellation.ts'
import { AdmissionQueueFull } from '../../graphql/execution/admission/admission-control.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import { probeMilliseconds } from '../../limits.ts'
import { memoizeBriefly } from '../async/memoize-briefly.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'
import { preferredType } from '../middleware/content-negotiation.ts'
import { withinDeadline } from '../produce.ts'
import type { PathHandler } from './own-paths.ts'
import { linksetOf } from './root-links.ts'
import { rootPage, rootPagePolicy, type RootPageOptions } from './root-page.ts'
import { answerRead } from './static-content.ts'

/** Seconds that the links may wait for an address; without one they are still useful. */
const addressSeconds = 1

/** Sender of the lookup, and its request id in the log if it fails: the lookup is shared by all requests. */
const lookupName = 'root'

export interface RootOptions {
  /** Finds a vault to link to; null if there is none, or the database does not respond. */
  readonly findAddress: (context: RequestContext) => Promise<string | null>
  /** Whether data needs no API key: only then is an address looked up and shown. */
  readonly isOpen: boolean
  /** Makes the page for browsers; null for a page of links. */
  readonly page: (() => Promise<EncodedResponse>) | null
  readonly report: (error: unknown, requestId: string) => void
}

const types = ['text/html', 'application/linkset+json', 'application/json'] as const
type RootType = (typeof types)[number]

/**
 * Creates the handler of `/`: a page for browsers, the explorer or links to all resources, and a link set (RFC 9264) for
 * other clients. A vault to link to is looked up at most once a second for all requests, and the responses are rebuilt
 * when it changes.
 */
export function rootLinks({ findAddress, isOpen, page, report }: RootOptions): ReadonlyMap<string, PathHandler> {
  const reportHere = (error: unknown): string => {
    report(error, lookupName)
    return lookupName
  }
  const lookUp = (): Promise<string | null> => {
    const signal = new Canceller()
    const finding = findAddress({ report: reportHere, sender: lookupName, signal })
    return withinDeadline(finding, addressSeconds, signal, () => null).catch((error: unknown) => {
      if (!(error instanceof AdmissionQueueFull)) reportHere(error)
      return null
    })
  }
  const addressNow = isOpen ? memoizeBriefly(lookUp, probeMilliseconds) : () => Promise.resolve(null)
  let made: { readonly address: string | null; readonly byType: ByType } | null = null

  async function content(accept: string | null): Promise<EncodedResponse> {
    const type = preferredType(accept, types) ?? 'application/json'
    if (type === 'text/html' && page !== null) return page()
    const address = await addressNow()
    if (made?.address !== address) made = { address, byType: contentsOf({ address, isOpen }) }
    return made.byType[type]
  }

  return new Map([['/', (request) => answerRead(request.method, () => content(request.header('accept')))]])
}

type ByType = Readonly<Record<RootType, EncodedResponse>>

function contentsOf(options: RootPageOptions): ByType {
  const links = linksetOf(options.address)
  return {
    'text/html': varying('text/html; charset=utf-8', rootPage(options), { 'content-security-policy': rootPagePolicy }),
    // The type has no charset parameter (RFC 9264, section 7.2).
    'application/linkset+json': varying('application/linkset+json', links),
    'application/json': varying('application/json; charset=utf-8', links),
  }
}

function varying(type: string, body: string, headers: Readonly<Record<string, string>> = {}): EncodedResponse {
  return new EncodedResponse({ status: 200, headers: { 'content-type': type, vary: 'accept', ...headers }, body })
}
