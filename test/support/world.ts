import { Readable } from 'node:stream'
import type { Database } from '../../src/database/database.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import type { Summary } from '../../src/feed/run.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import { inputSource, type Source } from '../../src/feed/reading/source.ts'

/** A feed of these facts, or of lines as they are, all of which come at once unless it is said how many do. */
export function feedOf(facts: readonly (FactInput | string | Buffer)[], linesTogether = facts.length): Source {
  const lines = facts.map((fact) => (typeof fact === 'string' || Buffer.isBuffer(fact) ? fact : JSON.stringify(fact)))
  const chunks: Buffer[] = []
  for (let from = 0; from < lines.length; from += linesTogether) {
    const some = lines.slice(from, from + linesTogether)
    chunks.push(Buffer.concat(some.flatMap((line) => [Buffer.from(line), Buffer.from('\n')])))
  }
  return inputSource(Readable.from(chunks))
}

/** Applies facts to a database. */
export function apply(
  database: Database,
  facts: readonly (FactInput | string | Buffer)[],
  options: Partial<IngestOptions> = {},
): Promise<Summary> {
  return ingest({ database, source: feedOf(facts), ...options })
}

/** Midnight (UTC) that the days of these tests are counted from. */
export const midnight = 1_700_006_400

export const vaultA = `0x${'a1'.repeat(20)}`
export const vaultB = `0x${'b2'.repeat(20)}`
export const owner = `0x${'0e'.repeat(20)}`

/** The address with this number: of decimal digits alone, so that it is its own checksummed form. */
export function addressOf(number: number): string {
  return `0x${String(number).padStart(40, '0')}`
}

type Event = Extract<FactInput, { kind: 'event' }>
type Mark = Extract<FactInput, { kind: 'mark' }>
type Details<Fact> = Fact extends unknown
  ? Omit<Fact, 'kind' | 'ts' | 'vault' | 'block' | 'txHash' | 'logIndex'>
  : never

export function strategy(id: string, ts = midnight): FactInput {
  return { kind: 'strategy', ts, id, name: `The ${id}`, tagline: `${id} in a line`, description: `What ${id} does` }
}

export function opened(vault: string, strategyId: string, ts = midnight): FactInput {
  return { kind: 'vault', ts, vault, owner, strategy: strategyId }
}

export function event(vault: string, ts: number, details: Details<Event>): FactInput {
  const logIndex = ts % 1_000
  return { kind: 'event', ts, vault, block: ts, txHash: `0x${ts.toString(16).padStart(64, '0')}`, logIndex, ...details }
}

/** A deposit of USDC at 1. */
export function deposit(vault: string, ts: number, amountUsd: string, valueBeforeUsd = '0'): FactInput {
  const assets = [{ symbol: 'USDC', amount: amountUsd }]
  return event(vault, ts, { type: 'deposit', amountUsd, assets, valueBeforeUsd, prices: { USDC: '1' } })
}

export function mark(vault: string, ts: number, valueUsd: string, details: Partial<Mark> = {}): FactInput {
  return { kind: 'mark', ts, vault, valueUsd, prices: { USDC: '1' }, positions: [], ...details }
}

/** A position in the range from 90 to 110. */
export function position(id: string, current = '100'): Mark['positions'][number] {
  return {
    id,
    pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 },
    range: { lower: '90', upper: '110', current },
    pendingRewardsUsd: '1.5',
  }
}
