import { existsSync } from 'node:fs'
import path from 'node:path'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { midnight } from './world.ts'

const realFeedFile = path.resolve(import.meta.dirname, '../../../shared/feeds/polygon-weth-usdc.ndjson.gz')

/** Path of a feed with facts of a real market, in a folder outside of the project; null if it is missing. */
export const realFeed = existsSync(realFeedFile) ? realFeedFile : null

/** Returns the text of a feed file. */
export function feedText(facts: readonly FactInput[]): string {
  return facts.map((fact) => `${JSON.stringify(fact)}\n`).join('')
}

/** Returns the facts of the demo world with several copies of each vault, in chronological order: a feed of any length. */
export function manyDemoFacts(copies: number): FactInput[] {
  return demoFacts(midnight).flatMap((fact): FactInput[] => {
    if (!('vault' in fact)) return [fact]
    return Array.from({ length: copies }, (_, copy) => ({ ...fact, vault: renumbered(fact.vault, copy) }))
  })
}

/** Returns the address of a copy of a vault. */
function renumbered(address: string, copy: number): string {
  return `${address.slice(0, -4)}${copy.toString(16).padStart(4, '0')}`
}
