import path from 'node:path'
import type { GraphiQLOptions } from 'graphql-yoga'
import type { Answer } from '../../rest/problem.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import type { Executor } from '../../graphql/execution/executor.ts'
import type { OwnDocument } from '../../graphql/execution/executor.ts'
import { type Contents, preparedFile } from '../ops/static-content.ts'

const mostValuable: OwnDocument = {
  document: '{ vaults(first: 1) { nodes { address } } }',
  path: ['vaults', 'nodes'],
  wordOf: (name) => name,
}

const nobody = '0x0000000000000000000000000000000000000000'

/**
 * Returns GraphiQL's script and style sheet, by path.
 * @param folder that they were prepared in
 */
export function graphiqlContents(folder: string): Contents {
  const names = ['graphiql.js', 'graphiql.css']
  return names.map((name) => [`/graphql/${name}`, () => preparedFile(path.join(folder, name))])
}

/** Returns GraphiQL's page; its script and style sheet are separate, cacheable resources. */
export function graphiqlPage(options: GraphiQLOptions): Answer {
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
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body }
}

/**
 * Returns the options of GraphiQL: the query in the link's query string, or else example queries.
 * @param address of an existing vault, for which the first example has a result; null uses a placeholder
 */
export function graphiqlOptions(link: URLSearchParams, address: string | null): GraphiQLOptions {
  const queries = exampleQueries(address ?? nobody)
  const [first = ''] = queries
  return {
    title: 'vault-gateway',
    defaultTabs: queries.map((query) => ({ query })),
    // The page reads the link's query itself; in these options, which become a script, it would allow cross-site
    // scripting.
    ...(link.has('query') ? {} : { query: first }),
    defaultEditorToolsVisibility: false,
  }
}

/** Returns the address of the most valuable vault; null if there is none, or the database fails. */
export async function exampleAddress(executor: Executor, context: RequestContext): Promise<string | null> {
  const { body } = await executor.runOwn(mostValuable, {}, context)
  const [vault] = JSON.parse(body ?? '[]') as { address: string }[]
  return vault?.address ?? null
}

/**
 * Returns the example queries.
 * @param address of the vault in the first example
 */
export function exampleQueries(address: string): string[] {
  return [
    `# What a vault is worth, and what it gained.
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
