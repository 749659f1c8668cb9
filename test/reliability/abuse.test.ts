import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { abuse } from './abuse.ts'
import { silent } from './show.ts'

const homes = prepareHomes()

test('plain snapshots do not stand in the queue of the dearest query that the bounds let through', async () => {
  const { figures, flaws } = await abuse({ homes, points: 50, seconds: 3, shapes: 1, mostP99: 'half', say: silent })
  expect(flaws).toEqual([])
  expect(Object.keys(figures)).toHaveLength(1)
}, 300_000)
