import { acceptedParameters, acceptedTypes } from '../../limits.ts'

/** A media range of an Accept header, with its weight from 0 to 1 (RFC 9110, sections 12.4.2 and 12.5.1). */
interface Accepted {
  readonly range: string
  readonly quality: number
}

/** Media type of GraphQL responses (GraphQL over HTTP); results are available as plain JSON too. */
export const graphqlMediaType = 'application/graphql-response+json'

/** Media types of results and REST responses. */
export const jsonMediaTypes = ['application/json', graphqlMediaType] as const

/** Returns whether a client accepts HTML by name, with at least the weight of JSON. */
export function prefersHtml(accept: string | null): boolean {
  if (accept === null || !/html/i.test(accept)) return false
  const accepted = parse(accept)
  const html = qualityOf(accepted, ['text/html'])
  return (
    html > 0 && html >= qualityOf(accepted, jsonMediaTypes) && html >= jsonWildcardQuality(accepted, jsonMediaTypes)
  )
}

/** Returns whether a client accepts a stream of server-sent events by name, with any weight but 0. */
export function acceptsEvents(accept: string): boolean {
  return /text\/event-stream/i.test(accept) && preferredType(accept, ['text/event-stream']) !== null
}

/** Returns whether a client accepts CSV by name, with more weight than JSON; with the same weight, if only a wildcard accepts JSON. */
export function prefersCsv(accept: string | null): boolean {
  // Most clients don't: their headers need no parsing.
  if (accept === null || !/csv/i.test(accept)) return false
  const accepted = parse(accept)
  const csv = qualityOf(accepted, ['text/csv'])
  return csv > qualityOf(accepted, ['application/json']) && csv >= jsonWildcardQuality(accepted, ['application/json'])
}

/**
 * Returns the media type that a client names with the greatest weight, the first of equal ones; null if it names none
 * of them. Wildcards are ignored.
 * @param types in order of preference, the most specific first
 */
export function preferredType<Type extends string>(accept: string | null, types: readonly Type[]): Type | null {
  if (accept === null) return null
  const accepted = parse(accept)
  let preferred: Type | null = null
  let greatest = 0
  for (const type of types) {
    const quality = qualityOf(accepted, [type])
    if (quality > greatest) [preferred, greatest] = [type, quality]
  }
  return preferred
}

/**
 * Returns the media ranges of an Accept header without their weights, in descending order of weight; ranges with weight
 * 0 and those beyond the limit `acceptedTypes` are removed.
 */
export function inOrderOfQuality(accept: string): string {
  if (!accept.includes(';')) return accept.split(',', acceptedTypes).join(',')
  const accepted = parse(accept).filter(({ quality }) => quality > 0)
  const ranges = accepted.sort((a, b) => b.quality - a.quality).map(({ range }) => range)
  // An empty header would be treated as absent, which accepts every type.
  return ranges.length === 0 ? 'none/none' : ranges.join(', ')
}

/** Returns whether an Accept header gives a media type the weight 0, which a wildcard does not outweigh (RFC 9110, section 12.5.1). */
export function isRefused(accept: string, type: string): boolean {
  return accept.includes(';') && parse(accept).some(({ range, quality }) => quality === 0 && range === type)
}

/** Returns the greatest weight with which one of the types is named; 0 if none is. */
function qualityOf(accepted: readonly Accepted[], types: readonly string[]): number {
  return Math.max(0, ...named(accepted, types).map(({ quality }) => quality))
}

/** Returns the weight of the most specific wildcard that accepts JSON; 0 if JSON is named, which takes precedence (RFC 9110, section 12.5.1). */
function jsonWildcardQuality(accepted: readonly Accepted[], types: readonly string[]): number {
  if (named(accepted, types).length > 0) return 0
  return qualityOf(accepted, named(accepted, ['application/*']).length > 0 ? ['application/*'] : ['*/*'])
}

function named(accepted: readonly Accepted[], types: readonly string[]): Accepted[] {
  return accepted.filter(({ range }) => types.includes(range.split(';', 1)[0] ?? ''))
}

/** Parses an Accept header; ranges beyond the limit `acceptedTypes`, and their parameters beyond `acceptedParameters`, are ignored. */
function parse(accept: string): Accepted[] {
  return accept
    .toLowerCase()
    .split(',', acceptedTypes)
    .map((each) => {
      const [type = '', ...parameters] = each.split(';', 1 + acceptedParameters).map((part) => part.trim())
      const weight = parameters.find((parameter) => /^q *=/.test(parameter))
      const quality = weight === undefined ? 1 : Number(weight.slice(weight.indexOf('=') + 1))
      const others = parameters.filter((parameter) => parameter !== weight)
      return { range: [type, ...others].join(';'), quality: quality >= 0 && quality <= 1 ? quality : 0 }
    })
}
