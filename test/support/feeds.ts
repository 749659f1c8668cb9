import { existsSync } from 'node:fs'
import path from 'node:path'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { midnight } from './world.ts'

const beside = path.resolve(import.meta.dirname, '../../../shared/feeds/polygon-weth-usdc.ndjson.gz')

/** A feed of real-market facts, which lies beside the project, not in it; null where it isn't there. */
export const realFeed = existsSync(beside) ? beside : null

/** The text of a feed of these facts. */
export function feedText(facts: readonly FactInput[]): string {
  return facts.map((fact) => `${JSON.stringify(fact)}\n`).join('')
}

/** The demo world with each of its vaults so many times over, in order: a feed of any length. */
export function manyDemoFacts(copies: number): FactInput[] {
  return demoFacts(midnight).flatMap((fact): FactInput[] => {
    if (!('vault' in fact)) return [fact]
    return Array.from({ length: copies }, (_, copy) => ({ ...fact, vault: renumbered(fact.vault, copy) }))
  })
}

function renumbered(address: string, copy: number): string {
  return `${address.slice(0, -4)}${copy.toString(16).padStart(4, '0')}`
}
