import { matcher } from '../rest/handler.ts'
import { routes } from '../rest/routes.ts'
import { graphqlPath } from './graphql/path.ts'
import { probePaths } from './ops/probe-paths.ts'

const fixed: readonly string[] = [graphqlPath, ...probePaths, '/', '/openapi.json', '/docs']
const patterns = routes.map((route) => ({ path: route.path, match: matcher(route) }))

/** The route that a path belongs to, such as `/vault/:address/snapshot`; `none` where it is none of them. */
export function routeLabel(path: string): string {
  if (fixed.includes(path)) return path
  return patterns.find(({ match }) => match(path) !== null)?.path ?? 'none'
}
