import { graphiqlContents } from '../graphql/graphiql.ts'
import { apiDocsContents } from '../ops/api-docs.ts'
import type { PathHandler } from '../ops/own-paths.ts'
import { explorerContents } from './explorer.ts'
import { rootLinks, type RootOptions } from './root.ts'
import { type PageFolders, servedOnce } from './static-content.ts'

/** The gateway's own pages, by path. */
interface Pages {
  /** The root path, which no rate limit refuses. */
  readonly root: ReadonlyMap<string, PathHandler>
  /** The files of the explorer and of GraphiQL, and the documentation. */
  readonly pages: ReadonlyMap<string, PathHandler>
}

/** Creates the gateway's own pages. */
export function createPages(
  { graphiql, explorer }: PageFolders,
  { isOpen, addressNow }: Pick<RootOptions, 'isOpen' | 'addressNow'>,
): Pages {
  const app = explorer === null ? null : explorerContents(explorer, isOpen)
  const assets = [...apiDocsContents, ...(graphiql === null ? [] : graphiqlContents(graphiql)), ...(app?.assets ?? [])]
  return { root: rootLinks({ addressNow, isOpen, page: app?.page ?? null }), pages: servedOnce(assets) }
}
