import type { FactInput } from '../../src/feed/fact/fact.ts'
import { addressOf, deposit, event, mark, midnight, position, strategy } from './world.ts'

/** A vault with the values by which lists of vaults are filtered and ordered. */
export interface FleetVault {
  readonly address: string
  readonly owner: string
  readonly strategy: string
  readonly status: string
  readonly valueUsd: number
  readonly netUsd: number
  readonly updatedAt: number
}

export const ann = addressOf(901)
export const bob = addressOf(902)

/** Parameters of a vault's facts. */
interface Course {
  readonly owner: string
  readonly strategy: string
  readonly status: string
  readonly deposited: number
  readonly valueUsd: number
  /** Seconds of its mark after midnight. */
  readonly at: number
}

/* Each order has ties, which the address breaks. */
const courses: readonly Course[] = [
  { owner: ann, strategy: 'one', status: 'EARNING', deposited: 100, valueUsd: 150, at: 5 },
  { owner: bob, strategy: 'one', status: 'ATTENTION', deposited: 300, valueUsd: 250, at: 4 },
  { owner: ann, strategy: 'two', status: 'PLANTING', deposited: 200, valueUsd: 200, at: 9 },
  { owner: bob, strategy: 'two', status: 'EARNING', deposited: 100, valueUsd: 150, at: 7 },
  { owner: ann, strategy: 'one', status: 'IDLE', deposited: 0, valueUsd: 0, at: 7 },
  { owner: ann, strategy: 'two', status: 'SUSPENDED', deposited: 50, valueUsd: 50, at: 6 },
  { owner: bob, strategy: 'two', status: 'EXITING', deposited: 1_000, valueUsd: 900.5, at: 4 },
  { owner: ann, strategy: 'one', status: 'EARNING', deposited: 9, valueUsd: 10, at: 8 },
]

/** Vaults of two strategies and two owners, unsorted. */
export const fleet: readonly FleetVault[] = courses.map(({ deposited, at, ...course }, index) => ({
  ...course,
  address: addressOf(index + 1),
  netUsd: course.valueUsd - deposited,
  updatedAt: midnight + at,
}))

export const fleetFacts: readonly FactInput[] = [
  strategy('one'),
  strategy('two'),
  strategy('unused'),
  ...courses.flatMap((course, index) => factsOf(addressOf(index + 1), course)),
]

function factsOf(vault: string, { owner, strategy, status, deposited, valueUsd, at }: Course): FactInput[] {
  const ts = midnight + at
  if (status === 'IDLE') return [{ kind: 'vault', ts, vault, owner, strategy }]
  const positions = status === 'PLANTING' ? [] : [position('p', status === 'ATTENTION' ? '120' : '100')]
  const facts: FactInput[] = [
    { kind: 'vault', ts: midnight, vault, owner, strategy },
    deposit(vault, midnight + 1, String(deposited)),
    mark(vault, ts, String(valueUsd), { positions }),
  ]
  if (status === 'EXITING') return [...facts, event(vault, ts, { type: 'exit', positionId: 'p' })]
  if (status === 'SUSPENDED') return [...facts, event(vault, ts, { type: 'suspend', reason: 'halt' })]
  return facts
}
