import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { soak } from './soak.ts'

const minutes = 0.1
const homes = prepareHomes()

test('responses agree with a feed that is followed, and REST, GraphQL and the database with each other afterwards', async () => {
  const { measurements, violations } = await soak({ homes, minutes, reportProgress: ignoreProgress })
  expect(violations).toEqual([])
  expect(measurements['correct responses']).toBeGreaterThan(0)
  expect(measurements['vaults compared over REST, GraphQL and in the database']).toBeGreaterThan(0)
}, 300_000)
