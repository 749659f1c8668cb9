import { matcher } from '../rest/handler.ts'
import { liveRoutes } from '../rest/live-routes.ts'
import { routes } from '../rest/routes.ts'
import { graphqlPath } from './graphql/path.ts'
import { probePaths } from './ops/probe-paths.ts'

const fixed: readonly string[] = [
  graphqlPath,
  ...liveRoutes.map(({ path }) => path),
  ...probePaths,
  '/',
  '/openapi.json',
  '/docs',
]
const patterns = routes.map((route) => ({ path: route.path, match: matcher(route) }))

/** Returns the route that a path matches, such as `/vault/:address/snapshot`; `none` if it matches none. */
export function routeLabel(path: string): string {
  if (fixed.includes(path)) return path
  return patterns.find(({ match }) => match(path) !== null)?.path ?? 'none'
}
