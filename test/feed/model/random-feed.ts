import fc from 'fast-check'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { corrupted } from './corruption.ts'
import { FactMaker, pair } from './fact-maker.ts'
import { randomOf, spelled } from './spelling.ts'
import type { Outcome, WorldModel } from './world-model.ts'

/** A line of a feed, and its outcome by the model. */
export interface ModelLine {
  readonly bytes: Buffer
  /** Null for a line without a fact. */
  readonly fact: FactInput | null
  /** Null for a line that is blank, which counts as a line only. */
  readonly outcome: Outcome | null
}

export interface ModelFeed {
  readonly lines: readonly ModelLine[]
  readonly model: WorldModel
}

/** Parameters of a generated feed. */
export interface FeedShape {
  readonly seed: number
  readonly lines: number
  readonly vaults: number
  /** Pauses between facts, in seconds. */
  readonly waits: readonly number[]
  /** Whether strategies are published at the beginning only. */
  readonly isCatalogueFixed?: boolean
}

/** Feeds of mostly valid facts: many in a few seconds, or over weeks. */
export const shape: fc.Arbitrary<FeedShape> = fc.record({
  seed: fc.integer(),
  lines: fc.integer({ min: 120, max: 260 }),
  vaults: fc.integer({ min: 1, max: 5 }),
  waits: fc.constantFrom([0, 0, 0, 1], [0, 0, 1, 60, 3_600], [43_200, 86_400, 0], [0, 1, 86_399, 86_401]),
})

/** Generates a feed, line by line: most lines are valid after the lines before them. */
export function feedOfShape(shape: FeedShape): ModelFeed {
  const maker = new FeedMaker(shape)
  return { lines: Array.from({ length: shape.lines }, (_, at) => maker.next(at)), model: maker.facts.model }
}

class FeedMaker {
  readonly facts: FactMaker
  readonly #made: FactInput[] = []

  constructor(shape: FeedShape) {
    this.facts = new FactMaker(randomOf(shape.seed), shape)
  }

  next(at: number): ModelLine {
    const { facts } = this
    const chance = facts.random()
    if (at > 4 && chance < 0.03) return { bytes: Buffer.from(facts.pick(blank)), fact: null, outcome: null }
    const isAgain = at > 4 && chance < 0.12
    const fact = isAgain ? facts.pick(this.#made) : facts.fact(at)
    if (at > 4 && chance > 0.95) {
      const { bytes, key } = corrupted(fact, facts.random)
      return { bytes, fact: null, outcome: { status: 'rejected', key } }
    }
    const taken = isAgain && facts.random() < 0.3 ? withOtherContents(fact) : fact
    const outcome = facts.model.apply(taken)
    if (outcome.status === 'applied') this.#made.push(taken)
    return { bytes: Buffer.from(spelled(taken, facts.random)), fact: taken, outcome }
  }
}

const blank = ['', ' ', '\r', '\t \r']

/** Returns a fact of the same identity with other contents. */
function withOtherContents(fact: FactInput): FactInput {
  const added = { ...pair('X', 'Y'), tvlUsd: '1', emissions: true }
  if (fact.kind === 'strategy') return { ...fact, name: `${fact.name}.` }
  if (fact.kind === 'screen') return { ...fact, pairs: [...fact.pairs, added] }
  if (fact.kind === 'mark') return { ...fact, valueUsd: `${fact.valueUsd.replace(/\..*/, '')}.123457` }
  if (fact.kind === 'event') return { ...fact, block: fact.block === 5 ? 6 : 5 }
  return { ...fact, owner: `0x${'ee'.repeat(20)}` }
}
