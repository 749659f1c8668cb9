import { graphiqlContents } from '../graphql/graphiql.ts'
import { apiDocsContents } from '../ops/api-docs.ts'
import type { PathHandler } from '../ops/own-paths.ts'
import { explorerContents } from './explorer.ts'
import { rootLinks, type RootOptions } from './root.ts'
import { type PageFolders, servedOnce } from './static-content.ts'

/** Returns the gateway's own pages, by path: of links, the explorer, GraphiQL's files, and the documentation. */
export function createPages(
  { graphiql, explorer }: PageFolders,
  { isOpen, addressNow }: Pick<RootOptions, 'isOpen' | 'addressNow'>,
): ReadonlyMap<string, PathHandler> {
  const app = explorer === null ? null : explorerContents(explorer, isOpen)
  const assets = [...apiDocsContents, ...(graphiql === null ? [] : graphiqlContents(graphiql)), ...(app?.assets ?? [])]
  return new Map([...servedOnce(assets), ...rootLinks({ addressNow, isOpen, page: app?.page ?? null })])
}
