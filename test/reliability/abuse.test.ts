import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { abuse } from './abuse.ts'
import { type Attack, attacks } from './attacks/attacks.ts'
import type { LatencySamples } from './attacks/honest-clients.ts'
import type { AttackLimits } from './attacks/run.ts'
import { ignoreProgress } from './program-result.ts'

const homes = prepareHomes()
const commonOptions = { homes, points: 50, reportProgress: ignoreProgress }

// It compares response times within one run, which other load on the machine can distort: hence the retries.
test(
  'cheap snapshots do not queue behind the most expensive query within the limits',
  { timeout: 300_000, retry: 2 },
  async () => {
    const { measurements, violations } = await abuse({
      ...commonOptions,
      seconds: 3,
      ledgerRows: 500,
      days: 40,
      flood: { shapes: 1, limits: 'half' },
      attacks: [],
      limitsFor: generousLimits,
    })
    expect(violations).toEqual([])
    expect(Object.keys(measurements)).toHaveLength(1)
  },
)

test('attacks by keys, documents and connections neither delay honest clients nor leave memory in use', async () => {
  const { measurements, violations } = await abuse({
    ...commonOptions,
    seconds: 1.5,
    ledgerRows: 20_000,
    days: 40,
    flood: { shapes: 0, limits: 'half' },
    attacks: ['unknown keys, 65 KB', 'operation names of 60 KB', 'pipelined counts'].map(attackOf),
    limitsFor: generousLimits,
  })
  expect(violations).toEqual([])
  // Each attack by one connection, and by many.
  expect(Object.keys(measurements)).toHaveLength(6)
}, 300_000)

test('the names of attacks are unique', () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
  expect(() => attackOf('unknown')).toThrow()
})

function attackOf(name: string): Attack {
  const found = attacks.find((attack) => attack.name === name)
  if (found === undefined) throw new Error(`No attack is named ${name}`)
  return found
}

/**
 * Returns limits that only a blocked gateway exceeds, on any machine: several seconds, or more if the machine is slow
 * without an attack. Memory is measured on the heap.
 */
function generousLimits({ health, snapshots, ownDelay }: LatencySamples): AttackLimits {
  const maxMilliseconds = Math.max(3_000, 30 * Math.max(...health, ...snapshots, ownDelay))
  return {
    healthMilliseconds: maxMilliseconds,
    snapshotMilliseconds: maxMilliseconds,
    newQueryMilliseconds: maxMilliseconds,
    memoryBytes: 30e6,
    memoryOf: 'heapBytes',
  }
}
