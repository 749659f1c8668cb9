import { type Address } from 'viem'
import { type ChainConfig, readChainConfig } from '../../../src/chain/config.ts'
import { chainFeed, chainName } from '../../../src/chain/feed.ts'
import type { ChainFile } from '../../../src/cli/commands/chain.ts'
import type { ChainPosition } from '../../../src/chain/chain-position.ts'
import type { Database } from '../../../src/database/database.ts'
import { inChain, readFeedPosition } from '../../../src/database/write/feed.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import type { Summary } from '../../../src/feed/summary.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import type { Protocol } from './protocol.ts'

export interface TestVault {
  readonly address: Address
  readonly firstBlock: number
}

/** Facts of two kinds, as in a feed. */
export type EventFact = Extract<FactInput, { kind: 'event' }>
export type MarkFact = Extract<FactInput, { kind: 'mark' }>

/** The contents of a chain.json, not validated. */
export type ChainJson = Record<string, unknown>

export function chainJson(
  urls: string | readonly string[],
  protocol: Protocol,
  vaults: readonly TestVault[],
  more: ChainJson = {},
): ChainJson {
  const { usdc, weth, wbtc, ethPool, btcPool } = protocol
  return {
    chainId: 31_337,
    rpc: [urls].flat().map((url) => ({ url, requestsPerSecond: 10_000 })),
    finality: 2,
    pollSeconds: 0.05,
    multicall: protocol.multicall,
    positionManager: protocol.manager,
    markEveryBlocks: 10,
    tokens: [
      { address: usdc.address, symbol: 'USDC', price: 'stable' },
      { address: weth.address, symbol: 'WETH', price: [ethPool] },
      { address: wbtc.address, symbol: 'WBTC', price: [btcPool, ethPool] },
    ],
    strategies: [{ id: 'one', ts: 1_700_000_000, name: 'One', tagline: 'One in a line', description: 'What it does' }],
    vaults: vaults.map((vault) => ({ ...vault, strategy: 'one' })),
    ...more,
  }
}

export function configOf(json: ChainJson): ChainConfig {
  return readChainConfig('chain.json', JSON.stringify(json))
}

/** Returns a chain.json as the command line reads it. */
export function chainFileOf(json: ChainJson, file = 'chain.json'): ChainFile {
  const config = configOf(json)
  return { file, name: chainName(config), config }
}

/** Short pauses between attempts. */
const retry = { firstMilliseconds: 2, maxMilliseconds: 20 }

/** Short time limits of faults, for tests in which faults last. */
export const shortFaultTimes = {
  reportedAfter: 100,
  unexplainedReportedAfter: 700,
  givesUpAfter: 400,
  repeatedAfter: 60_000,
}

/** A log message of the chain reader. */
export interface ReaderMessage {
  readonly level: string
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

export function optionsOf(
  json: ChainJson,
  { once = true, signal = new AbortController().signal, messages = [] as ReaderMessage[] } = {},
) {
  const report = (level: string, message: string, facts: ReaderMessage['facts']): void =>
    void messages.push({ level, message, facts })
  return { file: 'chain.json', config: configOf(json), report, signal, once, retry }
}

/** Reads the facts of a chain up to its newest final block. */
export async function factsOf(json: ChainJson): Promise<FactInput[]> {
  return (await linesOf(json)).map((line) => JSON.parse(line) as FactInput)
}

export async function linesOf(
  json: ChainJson,
  messages: ReaderMessage[] = [],
  times?: typeof shortFaultTimes,
): Promise<string[]> {
  const lines: string[] = []
  const options = optionsOf(json, { messages })
  const faults = times && { retry: { ...retry, faultTimes: times } }
  for await (const facts of chainFeed({ ...options, ...faults }, null).facts) {
    lines.push(...facts.map((fact) => JSON.stringify(fact)))
  }
  return lines
}

/** Returns the positions at which reading can resume, by the number of lines before them. */
export async function positionsOf(json: ChainJson): Promise<Map<number, ChainPosition>> {
  const { facts, positionAfter } = chainFeed(optionsOf(json), null)
  const positions = new Map<number, ChainPosition>()
  let read = 0
  for await (const some of facts) {
    read += some.length
    const position = positionAfter({ number: read })
    positions.set(position.line, position)
  }
  return positions
}

/** Returns the lines that a chain has after a position. */
export async function linesAfter(json: ChainJson, position: ChainPosition): Promise<string[]> {
  const lines: string[] = []
  for await (const some of chainFeed(optionsOf(json), position).facts) {
    lines.push(...some.map((fact) => JSON.stringify(fact)))
  }
  return lines
}

/** Applies a chain to a database, from its stored position up to the newest final block. */
export async function applyChain(
  database: Database,
  json: ChainJson,
  messages: ReaderMessage[] = [],
): Promise<Summary> {
  const options = optionsOf(json, { messages })
  const source = chainFeed(options, inChain(await readFeedPosition(database.prisma, chainName(options.config))))
  return ingest({ database, source })
}
