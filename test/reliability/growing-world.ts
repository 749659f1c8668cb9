import { setTimeout as wait } from 'node:timers/promises'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { manyDemoFacts } from '../support/feeds.ts'

/** Facts for a load test: a catalogue that is applied first, and two feeds with different vaults and owners. */
export interface GrowingWorld {
  readonly catalogue: readonly FactInput[]
  readonly feeds: readonly [readonly FactInput[], readonly FactInput[]]
}

/**
 * Creates facts from those of the demo world.
 * @param copies number of copies of its vaults, each with some 150 facts
 */
export function growingWorld(copies: number): GrowingWorld {
  const facts = manyDemoFacts(copies)
  const ofVaults = facts.filter((fact) => 'vault' in fact)
  const isOdd = ({ vault }: { vault: string }): boolean => parseInt(vault.slice(-1), 16) % 2 === 1
  return {
    catalogue: facts.filter((fact) => !('vault' in fact)),
    feeds: [
      ofVaults.filter((fact) => !isOdd(fact)).map((fact) => withOwnerOf(0, fact)),
      ofVaults.filter(isOdd).map((fact) => withOwnerOf(1, fact)),
    ],
  }
}

/**
 * Returns a fact with an owner of this feed only. Which vaults of an owner are the first, that are not in
 * `owner_is_large`, depends on the order in which they come: with an owner in two feeds, on how these interleave.
 */
function withOwnerOf(feed: 0 | 1, fact: FactInput): FactInput {
  return 'owner' in fact ? { ...fact, owner: `${fact.owner.slice(0, -1)}${feed}` } : fact
}

/** Writes a text in parts over a period, without regard to the ends of lines. */
export async function writeGradually(text: string, seconds: number, write: (part: Buffer) => unknown): Promise<void> {
  const bytes = Buffer.from(text)
  const startedAt = performance.now()
  for (let at = 0; at < bytes.length;) {
    await wait(100)
    const share = (performance.now() - startedAt) / (seconds * 1000)
    const due = Math.min(bytes.length, Math.ceil(bytes.length * share))
    await write(bytes.subarray(at, due))
    at = due
  }
}
