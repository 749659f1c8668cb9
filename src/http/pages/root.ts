import { EncodedResponse } from '../cache/encoded-response.ts'
import { preferredType } from '../middleware/content-negotiation.ts'
import type { PathHandler } from '../ops/own-paths.ts'
import { linksetOf } from './root-links.ts'
import { rootPage, rootPagePolicy, type RootPageOptions } from './root-page.ts'
import { answerRead } from './static-content.ts'

export interface RootOptions {
  /** Finds a vault to link to; null if there is none, or none may be shown. */
  readonly addressNow: () => Promise<string | null>
  /** Whether data needs no API key. */
  readonly isOpen: boolean
  /** Creates the page for browsers; null for a page of links. */
  readonly page: (() => Promise<EncodedResponse>) | null
}

const types = ['text/html', 'application/linkset+json', 'application/json'] as const
type RootType = (typeof types)[number]

/**
 * Creates the handler of `/`: a page for browsers, the explorer or links to all resources, and a link set (RFC 9264) for
 * other clients. The responses are rebuilt when the vault that they link to changes.
 */
export function rootLinks({ addressNow, isOpen, page }: RootOptions): ReadonlyMap<string, PathHandler> {
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
