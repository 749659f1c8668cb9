import { routes } from '../../rest/routes.ts'
import { graphqlMediaType } from '../middleware/content-negotiation.ts'

/** A link from the root to a resource of the gateway. */
export interface RootLink {
  /** Relation type, from RFC 8631 for descriptions and probes, and from RFC 6573 for data. */
  readonly rel: 'service-doc' | 'service-desc' | 'status' | 'item'
  /** Relative to the root: a proxy may serve the gateway under a path prefix. */
  readonly href: string
  /** Media type of the resource. */
  readonly type: string
  readonly title: string
}

/** A REST path, and the link to it. */
export interface LinkedPath {
  /** The path, with the address of a vault in place of its parameter if one is known. */
  readonly path: string
  readonly title: string
  /**
   * Link to the path; null if it needs an address and none is known: a link cannot contain a parameter (RFC 9264,
   * section 4.2).
   */
  readonly link: RootLink | null
}

/** Links to documentation. */
export const documentationLinks: readonly RootLink[] = [
  { rel: 'service-doc', href: 'graphql', type: 'text/html', title: 'GraphiQL: write and run GraphQL queries' },
  { rel: 'service-doc', href: 'docs', type: 'text/html', title: 'API documentation of the REST paths' },
  { rel: 'service-desc', href: 'openapi.json', type: 'application/json', title: 'OpenAPI document of the REST paths' },
]

/** Links to the probes. */
export const statusLinks: readonly RootLink[] = [
  { rel: 'status', href: 'health', type: 'application/json', title: 'Liveness probe' },
  { rel: 'status', href: 'ready', type: 'application/json', title: 'Readiness probe' },
]

const graphql: RootLink = {
  rel: 'item',
  href: 'graphql',
  type: graphqlMediaType,
  title: 'GraphQL endpoint, by GET and POST',
}

/** Returns the REST paths in the order of the interface. */
export function linkedPaths(address: string | null): readonly LinkedPath[] {
  return routes.map(({ path: template, documentation }) => {
    const path = address === null ? template : template.replace(':address', address)
    const link: RootLink = { rel: 'item', href: path.slice(1), type: 'application/json', title: documentation.summary }
    return { path, title: documentation.summary, link: path.includes(':') ? null : link }
  })
}

/**
 * Returns all links as a link set in JSON.
 * @param address of an existing vault; without one the paths of vaults are omitted
 * @see https://www.rfc-editor.org/rfc/rfc9264#section-4.2
 */
export function linksetOf(address: string | null): string {
  const ofPaths = linkedPaths(address).flatMap(({ link }) => link ?? [])
  const links = [...documentationLinks, ...statusLinks, graphql, ...ofPaths]
  const relations = new Set(links.map(({ rel }) => rel))
  const targets = Array.from(relations, (relation) => [
    relation,
    links.filter(({ rel }) => rel === relation).map(({ rel: _, ...target }) => target),
  ])
  return JSON.stringify({ linkset: [{ anchor: './', ...Object.fromEntries(targets) }] })
}
