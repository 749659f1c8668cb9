import type { GraphiQLOptions } from 'graphql-yoga'
import type { Database } from '../database/database.ts'
import { allStrategies, readVaultPages } from '../database/read/vault.ts'

const richest = {
  filter: { status: null, strategy: null, owner: null },
  orderBy: 'VALUE_USD',
  direction: 'DESC',
  first: 1,
  after: null,
} as const

const nobody = '0x0000000000000000000000000000000000000000'

/** What GraphiQL opens with: example queries that answer from what is there now. */
export async function graphiqlOptions(database: Database): Promise<GraphiQLOptions> {
  const [vault] = await readVaultPages(database, [allStrategies], richest)
  return {
    title: 'vault-gateway',
    defaultTabs: exampleQueries(vault?.address ?? nobody).map((query) => ({ query })),
    defaultEditorToolsVisibility: false,
  }
}

/** @param address of the vault that the first example asks for */
export function exampleQueries(address: string): string[] {
  return [
    `# One vault: what it is worth, what it gained net of flows, and who made it.
query Vault {
  vault(address: "${address}") {
    status
    valueUsd
    capitalInUsd
    capitalOutUsd
    netUsd
    strategyDeltaUsd
    marketDeltaUsd
    strategy { name liveApr sigma pairs { a b venues } }
    positions { id pool { a b venue feeTier } range { lower current upper } inRange pendingRewardsUsd }
    suspension { reason since exitsAvailable }
    equity(points: 10) { ts valueUsd netUsd changeUsd }
    events(first: 5) { nodes { ts type amountUsd txHash } pageInfo { hasNextPage endCursor } }
  }
}
`,
    `# All vaults, the greatest gain first.
query Vaults {
  vaults(first: 10, orderBy: { field: NET_USD, direction: DESC }) {
    totalCount
    nodes { address status valueUsd netUsd strategy { name } positions { inRange } }
    pageInfo { hasNextPage endCursor }
  }
}
`,
    `# The strategies and the universe they choose from.
query Catalogue {
  strategies { id name tagline liveApr sigma pairs { a b } vaults(first: 3) { totalCount nodes { address valueUsd } } }
  universe {
    screenedAt
    assets(category: MAJOR) { symbol name venues liquidityUsd }
    pairs { a b venues tvlUsd emissions }
  }
}
`,
  ]
}
