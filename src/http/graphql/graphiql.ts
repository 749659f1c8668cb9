import path from 'node:path'
import type { GraphiQLOptions } from 'graphql-yoga'
import { EncodedResponse } from '../cache/encoded-response.ts'
import type { Middleware, PathStages } from '../middleware.ts'
import { type Contents, preparedFile } from '../pages/static-content.ts'
import { graphqlPath, isGraphiqlPage } from './path.ts'

const nobody = '0x0000000000000000000000000000000000000000'

/**
 * Returns GraphiQL's script and style sheet, by path.
 * @param folder that they were prepared in
 */
export function graphiqlContents(folder: string): Contents {
  const names = ['graphiql.js', 'graphiql.css']
  return names.map((name) => [`/graphql/${name}`, () => preparedFile(path.join(folder, name))])
}

/**
 * Content security policy of GraphiQL: its editor creates workers from its own script, sets styles, and embeds its font
 * and images in the style sheet.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** GraphiQL's pages with examples of one vault. */
interface GraphiqlPages {
  readonly address: string | null
  readonly own: EncodedResponse
  /** The page of a link with a query. */
  readonly linked: EncodedResponse
}

/**
 * Responds with GraphiQL's page to browsers that open /graphql: one of two that are cached until the vault of the
 * examples changes. For a link with a query, which the page's script reads, the examples are only in further tabs.
 * @param addressNow finds the vault of the examples
 */
export function graphiqlPages(addressNow: () => Promise<string | null>): PathStages {
  let made: GraphiqlPages | null = null

  async function pageOf(isLinked: boolean): Promise<EncodedResponse> {
    const address = await addressNow()
    if (made?.address !== address) {
      const own = graphiqlPage(graphiqlOptions(false, address))
      made = { address, own, linked: graphiqlPage(graphiqlOptions(true, address)) }
    }
    return isLinked ? made.linked : made.own
  }

  const stage: Middleware = (next) => (exchange) => {
    const { request } = exchange
    return isGraphiqlPage(request) ? pageOf(request.query.has('query')) : next(exchange)
  }
  return new Map([[graphqlPath, stage]])
}

/** Returns GraphiQL's page; its script and style sheet are separate, cacheable resources. */
function graphiqlPage(options: GraphiQLOptions): EncodedResponse {
  const body = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>vault-gateway</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="graphql/graphiql.css">
    <script type="application/json" id="options">${JSON.stringify(options).replaceAll('<', '\\u003c')}</script>
    <script defer src="graphql/graphiql.js"></script>
  </head>
  <body id="body" class="no-focus-outline">
    <noscript>You need to enable JavaScript to run this app.</noscript>
    <div id="root"></div>
  </body>
</html>
`
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy, vary: 'accept' }
  return new EncodedResponse({ status: 200, headers, body })
}

/**
 * Returns the options of GraphiQL, with example queries.
 * @param isLinked whether the link has a query, which is opened in place of the first example
 * @param address of an existing vault, for which the first example has a result; null uses a placeholder
 */
function graphiqlOptions(isLinked: boolean, address: string | null): GraphiQLOptions {
  const queries = exampleQueries(address ?? nobody)
  const [first = ''] = queries
  return {
    title: 'vault-gateway',
    defaultTabs: queries.map((query) => ({ query })),
    // The page reads the link's query itself; in these options, which become a script, it would allow cross-site
    // scripting.
    ...(isLinked ? {} : { query: first }),
    defaultEditorToolsVisibility: false,
  }
}

/**
 * Returns the example queries.
 * @param address of the vault in the first example
 */
export function exampleQueries(address: string): string[] {
  return [
    `# The worth of a vault, and what it gained.
query Vault {
  vault(address: "${address}") {
    status
    valueUsd
    capitalInUsd
    capitalOutUsd
    netUsd
    strategyDeltaUsd
    marketDeltaUsd
    strategy { name liveApr sigma }
    positions {
      pool { a b venue feeTier }
      range { lower current upper }
      inRange
      pendingRewardsUsd
    }
    suspension { reason since exitsAvailable }
    equity(points: 10) { ts netUsd changeUsd }
    events(first: 5) {
      nodes { ts type amountUsd txHash }
      pageInfo { hasNextPage endCursor }
    }
  }
}
`,
    `# All vaults, the greatest gain first.
query Vaults {
  vaults(first: 10, orderBy: { field: NET_USD }) {
    totalCount
    nodes {
      address
      status
      valueUsd
      netUsd
      strategy { name }
      positions { inRange }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`,
    `# The strategies and the universe they choose from.
query Catalogue {
  strategies {
    name
    tagline
    liveApr
    sigma
    pairs { a b venues }
    vaults(first: 3) { totalCount nodes { address valueUsd } }
  }
  universe {
    screenedAt
    assets(category: MAJOR) { symbol name venues liquidityUsd }
    pairs { a b venues tvlUsd emissions }
  }
}
`,
  ]
}
