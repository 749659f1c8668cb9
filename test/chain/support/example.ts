import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Protocol } from './protocol.ts'
import type { ChainJson, TestVault } from './reading.ts'

const readme = readFileSync(path.resolve(import.meta.dirname, '../../../src/chain/README.md'), 'utf8')

interface Example {
  readonly tokens: readonly { readonly symbol: string; readonly address: string; readonly price: string | string[] }[]
  readonly vaults: readonly Record<string, unknown>[]
}

/** The chain.json of the chain's README. */
export function readmeExample(): ChainJson & Example {
  return JSON.parse(/```json\n(.*?)```/s.exec(readme)?.[1] ?? '') as ChainJson & Example
}

/** Returns the example with the addresses, chain id and block of a local node. */
export function localExample(url: string, protocol: Protocol, { address, firstBlock }: TestVault): ChainJson {
  const example = readmeExample()
  const [, weth, wbtc] = example.tokens.map(({ price }) => price)
  const pools = new Map([
    [weth?.[0], protocol.ethPool],
    [wbtc?.[0], protocol.btcPool],
  ])
  return {
    ...example,
    chainId: 31_337,
    rpc: [{ url, requestsPerSecond: 1_000 }],
    pollSeconds: 0.05,
    multicall: protocol.multicall,
    positionManager: protocol.manager,
    tokens: example.tokens.map(({ symbol, price }) => ({
      symbol,
      address: protocol.tokens.find((token) => token.symbol === symbol)?.address,
      price: typeof price === 'string' ? price : price.map((pool) => pools.get(pool)),
    })),
    vaults: example.vaults.map((vault) => ({ ...vault, address, firstBlock })),
  }
}
