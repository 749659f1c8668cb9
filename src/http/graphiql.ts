import type { GraphiQLOptions } from 'graphql-yoga'
import type { Making } from '../graphql/context.ts'
import type { ExecuteDocument, Wanted } from '../graphql/execute.ts'

const mostValuable: Wanted = {
  document: '{ vaults(first: 1) { nodes { address } } }',
  path: ['vaults', 'nodes'],
  wordOf: (name) => name,
}

const nobody = '0x0000000000000000000000000000000000000000'

/**
 * What GraphiQL opens with: the query of its link, or else example queries.
 * @param address of a vault that is there, so that the first of them answers; null shows none
 */
export function graphiqlOptions(link: URL, address: string | null): GraphiQLOptions {
  const queries = exampleQueries(address ?? nobody)
  const [first = ''] = queries
  return {
    title: 'vault-gateway',
    defaultTabs: queries.map((query) => ({ query })),
    // The page itself reads the link's query: in these options, which become a script, a stranger's text would run.
    ...(link.searchParams.has('query') ? {} : { query: first }),
    defaultEditorToolsVisibility: false,
  }
}

/** The most valuable vault's; null where there is none, or the database fails: the page opens all the same. */
export async function exampleAddress(execute: ExecuteDocument, making: Making): Promise<string | null> {
  const { part } = await execute(mostValuable, {}, making)
  const [vault] = JSON.parse(part ?? '[]') as { address: string }[]
  return vault?.address ?? null
}

/** @param address of the vault that the first example asks for */
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
