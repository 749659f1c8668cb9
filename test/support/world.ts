import { Readable } from 'node:stream'
import type { Database } from '../../src/database/database.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import type { Summary } from '../../src/feed/summary.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import { inputSource, type ByteSource } from '../../src/feed/reading/source.ts'

/**
 * Returns a source of facts, or of verbatim lines.
 * @param linesPerChunk by default, all lines are one chunk
 */
export function feedOf(facts: readonly (FactInput | string | Buffer)[], linesPerChunk = facts.length): ByteSource {
  const lines = facts.map((fact) => (typeof fact === 'string' || Buffer.isBuffer(fact) ? fact : JSON.stringify(fact)))
  const chunks: Buffer[] = []
  for (let from = 0; from < lines.length; from += linesPerChunk) {
    const chunk = lines.slice(from, from + linesPerChunk)
    chunks.push(Buffer.concat(chunk.flatMap((line) => [Buffer.from(line), Buffer.from('\n')])))
  }
  return inputSource(Readable.from(chunks))
}

/** Applies facts, or verbatim lines, to a database. */
export function apply(
  database: Database,
  facts: readonly (FactInput | string | Buffer)[],
  options: Partial<IngestOptions> = {},
): Promise<Summary> {
  return ingest({ database, source: feedOf(facts), ...options })
}

/** Unix seconds of a midnight (UTC), from which the tests count. */
export const midnight = 1_700_006_400

export const vaultA = `0x${'a1'.repeat(20)}`
export const vaultB = `0x${'b2'.repeat(20)}`
export const owner = `0x${'0e'.repeat(20)}`

/** Returns an address with a number in it: of decimal digits only, so that it is its own checksummed form. */
export function addressOf(number: number): string {
  return `0x${String(number).padStart(40, '0')}`
}

type Event = Extract<FactInput, { kind: 'event' }>
type Mark = Extract<FactInput, { kind: 'mark' }>
type Details<Fact> = Fact extends unknown
  ? Omit<Fact, 'kind' | 'ts' | 'vault' | 'block' | 'txHash' | 'logIndex'>
  : never

/** Returns a fact of a strategy. */
export function strategy(id: string, ts = midnight): FactInput {
  return { kind: 'strategy', ts, id, name: `The ${id}`, tagline: `${id} in a line`, description: `What ${id} does` }
}

/** Returns the fact that a vault was opened. */
export function opened(vault: string, strategyId: string, ts = midnight): FactInput {
  return { kind: 'vault', ts, vault, owner, strategy: strategyId }
}

/** Returns an event in a block whose number is its time in seconds. */
export function event(vault: string, ts: number, details: Details<Event>): FactInput {
  const logIndex = ts % 1_000
  return { kind: 'event', ts, vault, block: ts, txHash: `0x${ts.toString(16).padStart(64, '0')}`, logIndex, ...details }
}

/** Returns a deposit of USDC at a price of 1. */
export function deposit(vault: string, ts: number, amountUsd: string, valueBeforeUsd = '0'): FactInput {
  const assets = [{ symbol: 'USDC', amount: amountUsd }]
  return event(vault, ts, { type: 'deposit', amountUsd, assets, valueBeforeUsd, prices: { USDC: '1' } })
}

/** Returns a mark, by default without positions. */
export function mark(vault: string, ts: number, valueUsd: string, details: Partial<Mark> = {}): FactInput {
  return { kind: 'mark', ts, vault, valueUsd, prices: { USDC: '1' }, positions: [], ...details }
}

/** Returns a position whose range of prices is from 90 to 110. */
export function position(id: string, current = '100'): Mark['positions'][number] {
  return {
    id,
    pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 },
    range: { lower: '90', upper: '110', current },
    pendingRewardsUsd: '1.5',
  }
}
