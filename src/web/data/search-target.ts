import { type PageState, readPageState } from '../page-state.ts'

/** The meaning of a search. */
export type SearchTarget =
  | { readonly kind: 'page'; readonly state: PageState }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'part'; readonly head: string; readonly tail: string }
  | { readonly kind: 'transaction' }
  | { readonly kind: 'name'; readonly name: string }

const transaction = /0x[0-9a-f]{64}(?![0-9a-f])/i
const address = /(?:^|0x)([0-9a-f]{40})(?![0-9a-f])/i
const partOfAddress = /^(0x)?([0-9a-f]*)(?:(…|\.{2,3})([0-9a-f]*))?$/i
/** Minimum number of digits in a search for an address. */
const leastDigits = 3

/**
 * Returns the meaning of a search: a link to a page of this explorer; an address, also within an id or a link to a
 * block explorer; the start or the shortened form of an address; otherwise a name.
 * @param page address of this explorer
 */
export function searchTarget(text: string, page: string): SearchTarget {
  const state = stateOfLink(text, page)
  if (state !== null) return { kind: 'page', state }
  if (transaction.test(text)) return { kind: 'transaction' }
  const [, digits] = address.exec(text) ?? []
  if (digits !== undefined) return { kind: 'address', address: `0x${digits}` }
  const [, prefix, head = '', dots, tail = ''] = partOfAddress.exec(text) ?? []
  const isPart = prefix !== undefined || dots !== undefined || /\d/.test(head)
  if (isPart && head.length + tail.length >= leastDigits) {
    return { kind: 'part', head: head.toLowerCase(), tail: tail.toLowerCase() }
  }
  return { kind: 'name', name: text }
}

/** Returns whether an address starts and ends with the digits of a partial address. */
export function hasPart(text: string, { head, tail }: { readonly head: string; readonly tail: string }): boolean {
  const digits = text.toLowerCase().slice('0x'.length)
  return digits.startsWith(head) && digits.endsWith(tail)
}

function stateOfLink(text: string, page: string): PageState | null {
  if (!URL.canParse(text)) return null
  const [link, own] = [new URL(text), new URL(page)]
  if (link.origin !== own.origin || link.pathname !== own.pathname) return null
  return readPageState(link.search)
}
