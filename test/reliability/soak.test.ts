import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { soak } from './soak.ts'

const minutes = 0.1
const homes = prepareHomes()

test('while a feed is followed every answer is of the feed, and afterwards all ways of asking agree', async () => {
  const { measurements, violations } = await soak({ homes, minutes, reportProgress: ignoreProgress })
  expect(violations).toEqual([])
  expect(measurements['answers, all of the feed']).toBeGreaterThan(0)
  expect(measurements['vaults on which REST, GraphQL and the database agree']).toBeGreaterThan(0)
}, 300_000)
