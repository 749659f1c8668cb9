import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { abuse } from './abuse.ts'
import { type Attack, attacks } from './attacks/attacks.ts'
import type { AttackBounds } from './attacks/run.ts'
import type { Samples } from './attacks/witness.ts'
import { silent } from './show.ts'

const homes = prepareHomes()
const small = { homes, points: 50, say: silent }

// It compares times of one run; the machine may have had something else to do in it.
test(
  'cheap snapshots do not queue behind the most expensive query within the limits',
  { timeout: 300_000, retry: 2 },
  async () => {
    const { figures, flaws } = await abuse({
      ...small,
      seconds: 3,
      ledgerRows: 500,
      days: 40,
      flood: { shapes: 1, bounds: 'half' },
      attacks: [],
      boundsOf: generously,
    })
    expect(flaws).toEqual([])
    expect(Object.keys(figures)).toHaveLength(1)
  },
)

test('honest clients are answered, and no memory is kept, under attacks on keys, on documents and on connections', async () => {
  const { figures, flaws } = await abuse({
    ...small,
    seconds: 1.5,
    ledgerRows: 20_000,
    days: 40,
    flood: { shapes: 0, bounds: 'half' },
    attacks: ['unknown keys, 65 KB', 'operation names of 60 KB', 'pipelined counts'].map(attackOf),
    boundsOf: generously,
  })
  expect(flaws).toEqual([])
  // Each alone, and by many clients at once.
  expect(Object.keys(figures)).toHaveLength(6)
}, 300_000)

test('each attack has a name of its own', () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
  expect(() => attackOf('none of them')).toThrow()
})

function attackOf(name: string): Attack {
  const found = attacks.find((attack) => attack.name === name)
  if (found === undefined) throw new Error(`There is no attack ${name}`)
  return found
}

/**
 * Bounds that tell a gateway that stands still from one that is merely busy, on any machine: several seconds, and more
 * where the machine takes long without any attack. What an attack leaves behind is counted on the heap.
 */
function generously({ health, snapshots, ownDelay }: Samples): AttackBounds {
  const most = Math.max(3_000, 30 * Math.max(...health, ...snapshots, ownDelay))
  return { health: most, snapshots: most, queries: most, memory: 30e6, memoryOf: 'heapBytes' }
}
