import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { silent } from './show.ts'
import { soak } from './soak.ts'

const minutes = 0.1
const homes = prepareHomes()

test('while a feed is followed every answer is of the feed, and afterwards all ways of asking agree', async () => {
  const { figures, flaws } = await soak({ homes, minutes, say: silent })
  expect(flaws).toEqual([])
  expect(figures['answers, all of the feed']).toBeGreaterThan(0)
  expect(figures['vaults on which REST, GraphQL and the database agree']).toBeGreaterThan(0)
}, 300_000)
